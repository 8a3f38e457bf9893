"""The default build of the bundled sample: its tables, and what later runs make again."""

import json
import re
from collections import Counter, defaultdict
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from support.digests import Check, Product
from support.rows import Row, rows
from support.workflow import copied, jobs, snakemake

from factdrift.cli import main
from factdrift.wikidata.ids import MADE_UP_ITEMS, entity_number

SHORT_NAMES = (
    *("wfd_repl.parquet", "wikifactdiff.parquet"),
    *("wikifactdiff.stats.json", "funnel.parquet", "manifest.json"),
)
TALLIES = ("scenarios", "decisions", "splits")
FIRST, MADE_UP_AMONG_FIRST = 1000, 182
"""Updates by popularity, and items in them whose id is not found yet. The second number may only fall.

15 of them are earlier awards, which probes of ripples need: of what stays in a list there were too few.
"""


@pytest.fixture(scope="module")
def dataset(built: Path) -> list[Row]:
    return rows(built / "results" / "wikifactdiff.parquet")


@pytest.fixture(scope="module")
def replacements(built: Path) -> list[Row]:
    return rows(built / "results" / "wfd_repl.parquet")


@pytest.mark.parametrize(
    ("subject", "relation", "expected"),
    [
        ("United States of America", "P6", {"Donald Trump": "obsolete", "Joe Biden": "new"}),
        # As in the paper's first table.
        (
            "Cristiano Ronaldo",
            "P54",
            {"Juventus FC": "obsolete", "Al-Nassr": "new", "Portugal national football team": "static"},
        ),
    ],
)
def test_known_updates(dataset: list[Row], subject: str, relation: str, expected: dict[str, str]) -> None:
    (row,) = (
        row for row in dataset if (row["subject"]["label"], row["relation"]["id"]) == (subject, relation)
    )
    assert {each["label"]: each["decision"] for each in row["objects"]} == expected


def test_chatgpt_is_all_new(dataset: list[Row]) -> None:
    own = [row for row in dataset if row["subject"]["label"] == "ChatGPT"]
    assert {each["decision"] for row in own for each in row["objects"]} == {"new"}
    assert {row["scenario"] for row in own} == {"AddEntity"}


def test_there_are_enough_replacements(replacements: list[Row]) -> None:
    assert len(replacements) >= 150
    assert {row["scenario"] for row in replacements} == {"ReplaceObject"}


def test_few_items_of_the_most_popular_updates_have_a_made_up_id(dataset: list[Row]) -> None:
    order = [(-row["subject_popularity"], row["subject"]["id"], row["relation"]["id"]) for row in dataset]
    assert len(dataset) > FIRST
    chosen = [row for _, row in sorted(zip(order, dataset, strict=True), key=lambda each: each[0])[:FIRST]]
    ids = {item["id"] for row in chosen for item in (row["subject"], *row["objects"]) if item["id"]}
    assert len([item for item in ids if (entity_number(item) or 0) >= MADE_UP_ITEMS]) <= MADE_UP_AMONG_FIRST


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


def test_statistics_agree_with_the_tables(built: Path, dataset: list[Row], replacements: list[Row]) -> None:
    stats = json.loads((built / "results" / "wikifactdiff.stats.json").read_text(encoding="utf-8"))
    # Scenarios that do not occur are counted too: a Counter takes them for 0.
    found = {
        name: {key: Counter(n) if key in TALLIES else n for key, n in each.items()}
        for name, each in stats.items()
    }
    assert found == {"wikifactdiff": counted(dataset), "wfd_repl": counted(replacements)}


def test_the_manifest_agrees_with_the_tables(
    built: Path, dataset: list[Row], replacements: list[Row]
) -> None:
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


def test_other_benchmarks_are_built_only_when_they_are_asked_for(built: Path) -> None:
    made = {path.name for path in (built / "results").iterdir()}
    assert set(SHORT_NAMES) <= made
    assert not [name for name in made if name.lower().startswith(("klob", "tempripple", "edit", "models"))]


def test_a_second_run_has_nothing_to_do(built: Path) -> None:
    assert "Nothing to be done" in snakemake(built, "all", "results/snapshots/2023-02-27")


def test_another_new_date_makes_nothing_of_the_old_date_again(built: Path) -> None:
    plan = snakemake(built, "--dry-run", snapshots={"old": "2021-01-04", "new": "2022-06-01"})
    assert "results/snapshots/2022-06-01/sample.json.gz" in plan
    made = {line.split(":", 1)[1].strip() for line in plan.splitlines() if line.strip().startswith("output:")}
    assert made
    assert not any("results/snapshots/2021-01-04" in outputs for outputs in made)


@pytest.mark.slow
def test_other_dates_give_another_dataset_and_the_first_dates_again_only_copies(
    built: Path, tmp_path: Path
) -> None:
    directory = copied(built, tmp_path / "run")
    before = {name: (directory / "results" / name).read_bytes() for name in SHORT_NAMES}
    snakemake(directory, snapshots={"old": "2015-01-01", "new": "2019-06-01"})
    assert pq.read_table(directory / "results" / "wfd_repl.parquet").num_rows >= 30
    assert (directory / "results" / "wfd_repl.parquet").read_bytes() != before["wfd_repl.parquet"]
    assert set(jobs(snakemake(directory))) == {"all", "publish"}
    assert {name: (directory / "results" / name).read_bytes() for name in SHORT_NAMES} == before


@pytest.mark.digests
def test_digests_of_the_sample(built: Path, digests: Check) -> None:
    """The default build, with what is made on the way.

    Not compared are the sizes of packed dumps, which depend on the library that packs.
    """
    pair = "results/2021-01-04_2023-02-27"
    tables = ("neighbors", "random_neighbors", "popularity", "templates", "literals", "preprocess_report")
    chosen = [f"results/{name}" for name in SHORT_NAMES if name != "manifest.json"]
    chosen += [f"{pair}/{name}.parquet" for name in tables]
    chosen += [f"{pair}/{name}/0-of-1.parquet" for name in ("updates", "untouched")]
    manifest = Product("results/manifest.json", without=["versions", "dumps", "snapshots", "configuration"])
    digests("sample", built, [*chosen, manifest])


def test_the_command_counts_made_up_ids(
    built: Path, replacements: list[Row], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(built)
    assert main(["sample", "check"]) == 0
    said = capsys.readouterr().out
    whole = set(re.findall(r"'(Q9\d{8})'", str(replacements)))
    assert re.search(rf"wfd_repl\.parquet: [\d,]+ items, {len(whole)} with an id made up", said)
    by_part = re.findall(r"^\w+ +\d{4}-\d\d-\d\d +[\d,]+ +([\d,]+) ", said, re.MULTILINE)
    assert sum(int(number.replace(",", "")) for number in by_part) < 600
