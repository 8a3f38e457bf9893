"""The default build of the bundled sample: its tables, and what later runs make again."""

import json
import re
from collections import Counter, defaultdict
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from support.digests import Product
from support.rows import Row, rows
from support.workflow import ROOT, snakemake

TALLIES = ("scenarios", "decisions", "splits")


@pytest.fixture(scope="module")
def dataset(built: Path) -> list[Row]:
    return rows(built / "results" / "wikifactdiff.parquet")


@pytest.fixture(scope="module")
def replacements(built: Path) -> list[Row]:
    return rows(built / "results" / "wfd_repl.parquet")


def test_known_updates_and_every_scenario_and_filter(built, dataset, replacements):
    """The second update is in the paper's first table."""
    found: dict[str, dict[str, str]] = {}
    for row in dataset:
        name = f"{row['subject']['label']}, {row['relation']['id']}"
        found[name] = {each["label"]: each["decision"] for each in row["objects"]}
    assert found["United States of America, P6"] == {"Donald Trump": "obsolete", "Joe Biden": "new"}
    assert found["Cristiano Ronaldo, P54"] == {
        **{"Juventus FC": "obsolete", "Al-Nassr": "new", "Portugal national football team": "static"}
    }
    assert {row["scenario"] for row in dataset if row["subject"]["label"] == "ChatGPT"} == {"AddEntity"}
    assert len(replacements) >= 150
    assert {row["scenario"] for row in replacements} == {"ReplaceObject"}
    assert {row["scenario"] for row in dataset} == {
        *("ReplaceObject", "Archive", "AddObject", "AddRelation", "AddEntity", "Other")
    }
    report = rows(built / "results/2021-01-04_2023-02-27/preprocess_report.parquet")
    page = (ROOT / "docs" / "tables" / "filtered.md").read_text(encoding="utf-8")
    filters = re.findall(r"^\| `(\w+)` \|", page.partition("| filter |")[2], re.MULTILINE)
    assert {row["filter"] for row in report} == {*filters, "kept"}


def counted(updates: list[Row]) -> dict[str, object]:
    """The statistics of a dataset once more, counted in plain Python."""
    objects = [each for row in updates for each in row["objects"]]
    entities = {each["id"] for each in objects if each["id"] is not None}
    literals = {(each["datatype"], each["raw"], each["label"]) for each in objects if each["id"] is None}
    both = len(entities) + len(literals)
    return {
        "updates": len(updates),
        "triples": len(objects),
        "subjects": len({row["subject"]["id"] for row in updates}),
        "relations": len({row["relation"]["id"] for row in updates}),
        "objects": {"all": both, "entities": len(entities), "literals": len(literals)},
        "scenarios": Counter(row["scenario"] for row in updates),
        "decisions": Counter(each["decision"] for each in objects),
        "splits": Counter(row["split"] for row in updates),
    }


def test_statistics_agree_with_the_tables(built, dataset, replacements):
    stats = json.loads((built / "results" / "wikifactdiff.stats.json").read_text(encoding="utf-8"))
    # Scenarios that do not occur are counted too: a Counter takes them for 0.
    found = {
        name: {key: Counter(n) if key in TALLIES else n for key, n in each.items()}
        for name, each in stats.items()
    }
    assert found == {"wikifactdiff": counted(dataset), "wfd_repl": counted(replacements)}


def test_the_manifest_agrees_with_the_tables(built, dataset, replacements):
    manifest = json.loads((built / "results" / "manifest.json").read_text(encoding="utf-8"))
    assert "contact" not in manifest["configuration"]  # it concerns a person, and changes no result
    assert len(manifest["rows"]) > 10
    for name, count in manifest["rows"].items():
        assert pq.read_metadata(built / name).num_rows == count, name
    triples = manifest["triples"]
    objects = sum(len(row["objects"]) for row in dataset)
    assert triples["groups"]["kept"] == sum(triples["scenarios"].values()) == objects
    assert len({sum(triples[stage].values()) for stage in ("groups", "labels", "rules")}) == 1
    assert triples["wfd_repl"]["kept"] == sum(len(row["objects"]) for row in replacements)
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for row in rows(built / "results" / "funnel.parquet"):
        found[row["stage"]][row["reason"]] += row["triples"]
    assert {stage: found[stage] for stage in triples} == triples


def test_a_second_run_has_nothing_to_do(built):
    made = {path.name for path in (built / "results").iterdir()}
    assert not [name for name in made if name.lower().startswith(("klob", "tempripple", "edit", "models"))]
    assert "Nothing to be done" in snakemake(built, "all", "results/snapshots/2023-02-27")


@pytest.mark.digests
def test_digests_of_the_sample(built, digests):
    """The default build, with what is made on the way.

    Not compared are the sizes of packed dumps, which depend on the library that packs.
    """
    pair = "results/2021-01-04_2023-02-27"
    tables = ("neighbors", "random_neighbors", "popularity", "templates", "literals", "preprocess_report")
    products = ("wfd_repl.parquet", "wikifactdiff.parquet", "wikifactdiff.stats.json", "funnel.parquet")
    chosen = [f"results/{name}" for name in products]
    chosen += [f"{pair}/{name}.parquet" for name in tables]
    chosen += [f"{pair}/{name}/0-of-1.parquet" for name in ("updates", "untouched")]
    manifest = Product("results/manifest.json", without=["versions", "dumps", "snapshots", "configuration"])
    digests("sample", built, [*chosen, manifest])
