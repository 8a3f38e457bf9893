"""`factdrift recent` from the questions to the dataset, on servers of the loopback interface.

The Query Service knows the sample as of its later date; the API has two revisions of each of its entities.
"""

import gzip
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support import forked
from support.dumps import lines
from support.recent import database_with_articles
from support.rows import rows
from support.sparql import QueryService, query_service
from support.wikidata_api import Wiki, serving, stored

from factdrift.core.addresses import TOKEN_VARIABLE

pytestmark = pytest.mark.slow

OLD, NEW = "2021-01-04", "2023-02-27"
SINCE = "2021-01-05"
"""The entities are then as of OLD at the beginning of the period."""
RELATIONS = (35, 488)
SECRET = "a-secret-token-of-the-user"
CONTACT = "tests@example.org"


def entities_of(dump: Path) -> dict[str, Any]:
    found = (json.loads(text) for _, _, text in lines(dump))
    return {entity["id"]: stored(entity) for entity in found}


def sample_wiki(built: Path) -> Wiki:
    """The wiki with the sample's entities, in a revision for each date."""
    before, after = (entities_of(built / f"results/snapshots/{day}/sample.json.gz") for day in (OLD, NEW))
    wiki = Wiki()
    wiki.delay = 0.002  # so that two requests at once would meet
    for name in before.keys() | after.keys():
        dated = [(f"{day}T12:00:00Z", known.get(name)) for day, known in ((OLD, before), (NEW, after))]
        wiki.history[name] = [revision for revision in dated if revision[1] is not None]
    return wiki


def run(directory: Path, service: QueryService, wiki: Wiki, *more: str) -> str:
    directory.mkdir(exist_ok=True)
    program = "import sys; from factdrift.cli import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run(
        [
            *(sys.executable, "-c", program, "recent", "--since", SINCE, "--until", NEW),
            *("--relations", ",".join(f"P{relation}" for relation in RELATIONS)),
            *("--contact", CONTACT, "--endpoint", service.url, "--api", wiki.url, *more),
        ],
        cwd=directory,
        capture_output=True,
        text=True,
        check=False,
        env=forked.with_forked_jobs(**{TOKEN_VARIABLE: SECRET}),
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
    return done.stdout + done.stderr


def updates(directory: Path) -> dict[tuple[str, str], list[tuple[str, str]]]:
    """(subject, relation) -> the labels of its objects and what became of them."""
    found = {}
    for row in rows(directory / "results/wikifactdiff.parquet"):
        objects = sorted((each["label"], each["decision"]) for each in row["objects"])
        found[row["subject"]["id"], row["relation"]["id"]] = objects
    return found


def test_the_updates_are_those_of_the_sample(built, tmp_path):
    snapshot, directory = built / "results/snapshots" / NEW, tmp_path / "run"
    database = database_with_articles(
        sorted((snapshot / "statements").glob("*.parquet")),
        sorted((snapshot / "entities").glob("*.parquet")),
        snapshot / "properties.parquet",
        RELATIONS,
        tmp_path,
    )
    with query_service(database) as service, serving(sample_wiki(built)) as wiki:
        said = run(directory, service, wiki)
        asked = len(service.asked), len(wiki.requests)
        again = run(directory, service, wiki)
        assert (len(service.asked), len(wiki.requests)) == asked
    assert "Nothing to be done" in again
    assert "fetch_entities: 2 of 2 jobs" in (directory / "logs/progress.txt").read_text("utf-8")
    for day in ("2021-01-04", NEW):
        log = (directory / f"logs/snapshots/{day}/entities.json.gz.txt").read_text(encoding="utf-8")
        assert re.search(rf"fetching entities as of {day}: \d+ of \d+ requests \(100%\)", log)
        assert '"written"' in log
    wanted = {f"P{relation}" for relation in RELATIONS}
    expected = {key: objects for key, objects in updates(built).items() if key[1] in wanted}
    assert len(expected) > 20
    assert updates(directory) == expected
    # The servers were asked by the rules.
    assert service.offences == []
    assert len(service.asked) == 26 * len(RELATIONS)
    assert wiki.busiest == 1
    assert all(CONTACT in agent for agent in wiki.agents)
    assert max(wiki.asked().values()) == 2
    # The token went to the API only, and is in no file.
    assert set(wiki.authorizations) == {f"Bearer {SECRET}"}
    assert service.authorizations == []
    assert SECRET not in said
    for path in directory.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            assert SECRET.encode() not in (gzip.decompress(data) if path.suffix == ".gz" else data), path
