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


def test_a_list_of_entities_as_of_two_dates(tmp_path):
    with serving(Wiki()) as wiki:
        wiki.delay = 0.002
        before, after = chaired_by_priebus(wiki), wiki.entity(PARTY)
        wiki.history[PARTY] = [("2014-01-01T00:00:00Z", before), ("2017-02-01T00:00:00Z", after)]
        snakemake(tmp_path, "results/wikifactdiff.parquet", **config(wiki, tmp_path))
        found = rows(tmp_path / "results/wikifactdiff.parquet")
        # Only the listed entities have updates.
        assert {each["subject"]["id"] for each in found} == {PARTY}
        (row,) = [each for each in found if each["relation"]["id"] == "P488"]
        name = {item: wiki.entity(item)["labels"]["en"]["value"] for item in (PRIEBUS, MCDANIEL)}
        decisions = {each["label"]: each["decision"] for each in row["objects"]}
        assert decisions == {name[PRIEBUS]: "obsolete", name[MCDANIEL]: "new"}
        assert (row["scenario"], row["subject"]["label"]) == ("ReplaceObject", "Republican Party")
        # The two dates share requests, and never send two at once.
        assert wiki.busiest == 1
        assert len(wiki.agents) == 1
        assert max(wiki.asked().values()) == 2
        assert "fetch_entities: 2 of 2 jobs" in (tmp_path / "logs/progress.txt").read_text("utf-8")
        for date in (OLD, NEW):
            log = (tmp_path / f"logs/snapshots/{date}/entities.json.gz.txt").read_text(encoding="utf-8")
            assert re.search(rf"fetching entities as of {date}: \d+ of \d+ requests \(100%\)", log)
            assert '"written"' in log
        asked = len(wiki.requests)
        dump = tmp_path / f"results/snapshots/{OLD}/entities.json.gz"
        written = dump.read_bytes()
        target = f"results/snapshots/{OLD}/entities.json.gz"
        assert "rule fetch_entities" in snakemake(tmp_path, "--force", target, **config(wiki, tmp_path))
        assert len(wiki.requests) == asked
        assert dump.read_bytes() == written
        # For another date of the same list, revisions are requested; labels are known.
        later = "2017-01-01"
        snakemake(tmp_path, f"results/snapshots/{later}/entities.json.gz", **config(wiki, tmp_path, later))
        assert {each["action"] for each in wiki.requests[asked:]} == {"query"}
