"""The default build of the bundled sample: its tables, and what later runs make again."""

import json
from collections import Counter

import pyarrow.parquet as pq
import pytest
from support.digests import Product
from support.workflow import ROOT, copied, jobs, rules_of, snakemake

SHORT_NAMES = (
    *("wfd_repl.parquet", "wikifactdiff.parquet"),
    *("wikifactdiff.stats.json", "funnel.parquet", "manifest.json"),
)

TALLIES = ("scenarios", "decisions", "splits")


@pytest.fixture(scope="module")
def rows(built):
    return pq.read_table(built / "results" / "wikifactdiff.parquet").to_pylist()


def decisions(rows, subject, relation):
    (row,) = [r for r in rows if r["subject"]["label"] == subject and r["relation"]["id"] == relation]
    return {each["label"]: each["decision"] for each in row["objects"]}


def test_head_of_government_of_the_united_states(rows):
    found = decisions(rows, "United States of America", "P6")
    assert found == {"Donald Trump": "obsolete", "Joe Biden": "new"}


def test_clubs_of_cristiano_ronaldo_as_in_the_papers_first_table(rows):
    found = decisions(rows, "Cristiano Ronaldo", "P54")
    by_club = {name.replace("Juventus FC", "Juventus F.C."): label for name, label in found.items()}
    assert by_club["Juventus F.C."] == "obsolete"
    assert next(label for name, label in found.items() if "Nassr" in name) == "new"
    assert next(label for name, label in found.items() if name.startswith("Portugal national")) == "static"
    assert len(found) == 3


def test_chatgpt_is_all_new(rows):
    labels = {
        each["decision"] for row in rows if row["subject"]["label"] == "ChatGPT" for each in row["objects"]
    }
    assert labels == {"new"}
    assert {r["scenario"] for r in rows if r["subject"]["label"] == "ChatGPT"} == {"AddEntity"}


def test_every_scenario_and_enough_replacements(built, rows):
    assert {row["scenario"] for row in rows} == {
        "AddEntity",
        "AddRelation",
        "AddObject",
        "ReplaceObject",
        "Archive",
        "Other",
    }
    replacements = pq.read_table(built / "results" / "wfd_repl.parquet")
    assert replacements.num_rows >= 150
    assert set(replacements["scenario"].to_pylist()) == {"ReplaceObject"}


def counted(rows):
    """The statistics of a dataset once more, counted in plain Python."""
    objects = [each for row in rows for each in row["objects"]]
    entities = {each["id"] for each in objects if each["id"] is not None}
    literals = {(each["datatype"], each["raw"], each["label"]) for each in objects if each["id"] is None}
    return {
        "updates": len(rows),
        "triples": len(objects),
        "subjects": len({row["subject"]["id"] for row in rows}),
        "relations": len({row["relation"]["id"] for row in rows}),
        "objects": {
            "all": len(entities) + len(literals),
            "entities": len(entities),
            "literals": len(literals),
        },
        "scenarios": Counter(row["scenario"] for row in rows),
        "decisions": Counter(each["decision"] for each in objects),
        "splits": Counter(row["split"] for row in rows),
    }


def test_statistics_agree_with_the_tables(built, rows):
    stats = json.loads((built / "results" / "wikifactdiff.stats.json").read_text(encoding="utf-8"))
    replacements = pq.read_table(built / "results" / "wfd_repl.parquet").to_pylist()
    assert set(stats) == {"wikifactdiff", "wfd_repl"}
    for name, records in (("wikifactdiff", rows), ("wfd_repl", replacements)):
        # Scenarios that do not occur are counted too: a Counter takes them for 0.
        assert {key: Counter(n) if key in TALLIES else n for key, n in stats[name].items()} == counted(
            records
        )


def test_the_manifest_agrees_with_the_tables(built, rows):
    manifest = json.loads((built / "results" / "manifest.json").read_text(encoding="utf-8"))
    assert "contact" not in manifest["configuration"]  # it concerns a person, and changes no result
    assert len(manifest["rows"]) > 15
    for name, count in manifest["rows"].items():
        assert pq.read_metadata(built / name).num_rows == count, name
    objects = sum(len(row["objects"]) for row in rows)
    triples = manifest["triples"]
    assert triples["groups"]["kept"] == sum(triples["scenarios"].values()) == objects
    assert (
        sum(triples["groups"].values()) == sum(triples["labels"].values()) == sum(triples["rules"].values())
    )
    replacements = pq.read_table(built / "results" / "wfd_repl.parquet").to_pylist()
    assert triples["wfd_repl"]["kept"] == sum(len(row["objects"]) for row in replacements)
    funnel = pq.read_table(built / "results" / "funnel.parquet").to_pylist()
    for stage, reasons in triples.items():
        found = Counter()
        for row in funnel:
            if row["stage"] == stage:
                found[row["reason"]] += row["triples"]
        assert found == reasons, stage


def test_other_benchmarks_are_built_only_when_they_are_asked_for(built):
    made = {path.name for path in (built / "results").iterdir()}
    assert set(SHORT_NAMES) <= made
    assert not [name for name in made if name.lower().startswith(("klob", "tempripple", "edit", "models"))]


def test_a_second_run_has_nothing_to_do(built):
    assert "Nothing to be done" in snakemake(built, "all")


def test_another_new_date_makes_nothing_of_the_old_date_again(built):
    plan = snakemake(built, "--dry-run", snapshots={"old": "2021-01-04", "new": "2022-06-01"})
    assert "results/snapshots/2022-06-01/sample.json.gz" in plan
    made = {line.split(":", 1)[1].strip() for line in plan.splitlines() if line.strip().startswith("output:")}
    assert made
    assert not any("results/snapshots/2021-01-04" in outputs for outputs in made)


@pytest.mark.slow
def test_other_dates_give_another_dataset_and_the_first_dates_again_only_copies(built, tmp_path):
    directory = copied(built, tmp_path / "run")
    before = {name: (directory / "results" / name).read_bytes() for name in SHORT_NAMES}
    snakemake(directory, snapshots={"old": "2015-01-01", "new": "2019-06-01"})
    assert pq.read_table(directory / "results" / "wfd_repl.parquet").num_rows >= 30
    assert (directory / "results" / "wfd_repl.parquet").read_bytes() != before["wfd_repl.parquet"]
    assert set(jobs(snakemake(directory))) == {"all", "publish"}
    assert {name: (directory / "results" / name).read_bytes() for name in SHORT_NAMES} == before


def test_every_rule_has_log_and_benchmark():
    files = sorted((ROOT / "rules").glob("*.smk"))
    found = {
        name: {line.strip() for line in body.splitlines()}
        for file in files
        for name, body in rules_of(file.read_text(encoding="utf-8")).items()
    }
    assert {"extract_shard", "edit_mend"} <= set(found), "rules inside an `if` are found too"
    for name, lines in found.items():
        if "shell:" in lines:  # the others are targets
            assert {"log:", "benchmark:"} <= lines, name


@pytest.mark.digests
def test_digests_of_the_sample(built, digests):
    """The default build, with what is made on the way.

    Not compared are the sizes of packed dumps, which depend on the library that packs.
    """
    pair = "results/2021-01-04_2023-02-27"
    tables = ("neighbors", "random_neighbors", "popularity", "templates", "literals", "preprocess_report")
    chosen = [f"results/{name}" for name in SHORT_NAMES if name != "manifest.json"]
    chosen += [f"{pair}/{name}.parquet" for name in tables]
    chosen += [
        f"{pair}/{name}/{bucket}-of-2.parquet" for name in ("updates", "untouched") for bucket in (0, 1)
    ]
    manifest = Product("results/manifest.json", without=["versions", "dumps", "snapshots", "configuration"])
    digests("sample", built, [*chosen, manifest])
