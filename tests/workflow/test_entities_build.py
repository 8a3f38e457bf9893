"""A build from single entities as of two dates, fetched from an API on the loopback interface."""

import re

import pytest
from support.rows import rows
from support.wikidata_api import Wiki, serving
from support.workflow import snakemake

pytestmark = pytest.mark.slow

OLD, NEW = "2015-01-01", "2018-06-01"
PARTY, PRIEBUS, MCDANIEL = "Q29468", "Q1357640", "Q27899325"


def chaired_by_priebus(wiki):
    """The Republican Party as of 2016: without the later chair, and without the end of the earlier one."""
    entity = wiki.entity(PARTY)
    chairs = entity["claims"]["P488"]
    named = {each["mainsnak"]["datavalue"]["value"]["id"]: each for each in chairs}
    chairs.remove(named[MCDANIEL])
    del named[PRIEBUS]["qualifiers"]["P582"]
    named[PRIEBUS]["rank"] = "preferred"
    return entity


def config(wiki, directory, new=NEW):
    """The configuration of a build of a list of entities."""
    (directory / "ids.txt").write_text(f"{PARTY}  # Republican Party\nQ278\nP488\n", encoding="utf-8")
    source = {"entities": str(directory / "ids.txt")}
    dates = {"old": OLD, "new": new}
    dumps = {OLD: source, new: source}
    return {"snapshots": dates, "dumps": dumps, "contact": "tests@example.org", "wikidata_api": wiki.url}


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    """The wiki, the directory of a build from two of its days, and the output of the run."""
    directory = tmp_path_factory.mktemp("entities")
    with serving(Wiki()) as wiki:
        wiki.delay = 0.002
        before, after = chaired_by_priebus(wiki), wiki.entity(PARTY)
        wiki.history[PARTY] = [("2014-01-01T00:00:00Z", before), ("2017-02-01T00:00:00Z", after)]
        said = snakemake(directory, "results/wikifactdiff.parquet", **config(wiki, directory))
        yield wiki, directory, said


def test_the_change_of_the_chair_is_found(build):
    wiki, directory, _ = build
    found = rows(directory / "results/wikifactdiff.parquet")
    # Only the listed entities have updates.
    assert {each["subject"]["id"] for each in found} == {PARTY}
    (row,) = [each for each in found if each["relation"]["id"] == "P488"]
    name = {item: wiki.entity(item)["labels"]["en"]["value"] for item in (PRIEBUS, MCDANIEL)}
    decisions = {each["label"]: each["decision"] for each in row["objects"]}
    assert decisions == {name[PRIEBUS]: "obsolete", name[MCDANIEL]: "new"}
    assert row["scenario"] == "ReplaceObject"
    assert row["subject"]["label"] == "Republican Party"


def test_the_two_dates_share_requests_and_never_send_two_at_once(build):
    wiki, directory, said = build
    assert wiki.busiest == 1
    assert len(wiki.agents) == 1
    assert max(wiki.asked().values()) == 2
    log = (directory / f"logs/snapshots/{OLD}/entities.txt").read_text(encoding="utf-8")
    assert re.search(r"fetching entities as of 2015-01-01: \d+ of \d+ requests \(100%\)", log)
    assert "progress: fetch_entities: 2 of 2 jobs" in said
    logs = (directory / f"logs/snapshots/{date}/entities.txt" for date in (OLD, NEW))
    assert all('"written"' in log.read_text(encoding="utf-8") for log in logs)


def test_another_run_requests_only_what_is_new(build):
    wiki, directory, _ = build
    asked = len(wiki.requests)
    dump = f"results/snapshots/{OLD}/entities.json.gz"
    before = (directory / dump).read_bytes()
    said = snakemake(directory, "--force", dump, **config(wiki, directory))
    assert "rule fetch_entities" in said
    assert len(wiki.requests) == asked
    assert (directory / dump).read_bytes() == before
    # For another date of the same list, revisions are requested; labels are known.
    later = "2017-01-01"
    snakemake(directory, f"results/snapshots/{later}/entities.json.gz", **config(wiki, directory, later))
    assert {each["action"] for each in wiki.requests[asked:]} == {"query"}
