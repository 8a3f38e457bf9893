"""Entities fetched from the API: the right revisions, what later stages need, each requested once; tokens."""

import gzip
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from support import server as web
from support.dumps import lines
from support.waiting import wait_until
from support.wikidata_api import LIMIT, Wiki, serving

from factdrift.cli import main
from factdrift.core.addresses import TOKEN_VARIABLE, access_token
from factdrift.core.errors import InputError
from factdrift.snapshots.api.client import LIMITS, POLICY, Api
from factdrift.snapshots.api.entities import Fetched, fetch_entities, store_of
from factdrift.snapshots.fetch import Client

CONTACT = "tests@example.org"


@pytest.fixture
def wiki() -> Iterator[Wiki]:
    with serving(Wiki()) as found:
        yield found


def line(wiki: Wiki, folder: Path, *ids: str) -> list[str]:
    """The arguments of a call that writes dump.json.gz and f.parquet into a folder."""
    folder.mkdir(exist_ok=True)
    (folder / "ids.txt").write_text("".join(f"{name}\n" for name in ids), encoding="utf-8")
    given = ("--ids", folder / "ids.txt", "--date", "2019-01-01", "--contact", CONTACT, "--api", wiki.url)
    paths = ("--store", folder / "api", "--fetched", folder / "f.parquet", "-o", folder / "dump.json.gz")
    return ["snapshots", "entities", *map(str, (*given, *paths))]


PARTY, PRIEBUS, MCDANIEL, CLASS = "Q29468", "Q1357640", "Q27899325", "Q7278"


def asking(url: str, sleep: Any = lambda seconds: None) -> Api:
    return Api(url, Client(CONTACT, POLICY, LIMITS, sleep))


def fetch(
    wiki: Wiki, folder: Path, *ids: str, date: str = "2019-01-01", objects: bool = False, waits: Any = None
) -> Fetched:
    """Fetches into folder/<date>.json.gz and .parquet; waiting takes no time and goes to `waits`."""
    api = asking(wiki.url, ([] if waits is None else waits).append)
    outputs = folder / f"{date}.json.gz", folder / f"{date}.parquet"
    return fetch_entities(ids, date, api, folder / "api", objects, *outputs)


def written(folder: Path, date: str = "2019-01-01") -> dict[str, dict[str, Any]]:
    entities = (json.loads(text) for _, _, text in lines(folder / f"{date}.json.gz"))
    return {entity["id"]: entity for entity in entities}


def table(folder: Path, date: str = "2019-01-01") -> dict[int, dict[str, Any]]:
    return {row["id"]: row for row in pq.read_table(folder / f"{date}.parquet").to_pylist()}


def labelled(wiki: Wiki, name: str, *labels: str) -> list[tuple[str, dict[str, Any]]]:
    """Revisions of an entity of 1 June of 2015, 2016, ..., which differ in their label."""
    return [
        (
            f"{year}-06-01T12:00:00Z",
            wiki.entity(name) | {"labels": {"en": {"language": "en", "value": label}}},
        )
        for year, label in enumerate(labels, start=2015)
    ]


def statement(name: str, value: str) -> dict[str, Any]:
    entity = {"entity-type": "item", "numeric-id": int(value[1:]), "id": value}
    data = {"value": entity, "type": "wikibase-entityid"}
    snak = {"snaktype": "value", "property": name, "datavalue": data}
    return {"mainsnak": snak, "rank": "normal", "id": name}


def stands(wiki: Wiki, name: str, **changes: Any) -> None:
    """Gives an entity one revision, of 2014, with these fields."""
    wiki.history[name] = [("2014-01-01T00:00:00Z", wiki.entity(name) | changes)]


@pytest.fixture
def led(wiki):
    """A wiki whose party has one statement, with Priebus as its object."""
    stands(wiki, PARTY, claims={"P488": [statement("P488", PRIEBUS)]})
    return wiki


def test_the_revision_is_the_last_one_of_the_day(wiki, tmp_path):
    """For another date only the revision is requested, and nothing for the same date."""
    wiki.history["Q278"] = labelled(wiki, "Q278", "a", "b", "c")
    for date, label in (("2016-05-31", "a"), ("2016-06-01", "b"), ("2020-01-01", "c")):
        asked = len(wiki.requests)
        fetch(wiki, tmp_path, "Q278", date=date)
        line = written(tmp_path, date)["Q278"]
        assert line["labels"]["en"]["value"] == label
        row = table(tmp_path, date)[278]
        assert (line["lastrevid"], line["modified"]) == (row["revision"], row["modified"])
        assert row["modified"][:10] <= date
        assert (row["role"], row["as_of"], row["note"]) == ("requested", date, None)
        actions = {each["action"] for each in wiki.requests[asked:]}
        assert actions == ({"query"} if asked else {"query", "wbgetentities"})
        written_once = (tmp_path / f"{date}.json.gz").read_bytes()
        assert fetch(wiki, tmp_path, "Q278", date=date).requests == 0
        assert (tmp_path / f"{date}.json.gz").read_bytes() == written_once


def test_the_entities_that_later_stages_need_are_fetched(wiki, tmp_path):
    upper = {"P279": [statement("P279", "Q900000001")], "P31": [statement("P31", "Q3")]}
    stands(wiki, CLASS, claims=upper)
    # The search ends although two classes are superclasses of each other.
    stands(wiki, "Q900000001", claims={"P279": [statement("P279", CLASS)]})
    found = fetch(wiki, tmp_path, PARTY)
    entities = written(tmp_path)
    line, given = entities[PARTY], wiki.entity(PARTY)
    claims = line["claims"]
    qualifiers = {name for group in claims.values() for each in group for name in each.get("qualifiers", {})}
    assert qualifiers
    assert {*claims, *qualifiers} <= set(entities)
    assert entities[CLASS]["claims"].keys() == {"P279"}
    assert "lastrevid" not in entities[CLASS]
    assert "Q900000001" in entities
    roles = {row["id"]: row["role"] for row in table(tmp_path).values()}
    expected = {7278: "class", 900000001: "class", -488: "property", 1357640: "object"}
    assert expected.items() <= roles.items()
    assert entities[PRIEBUS]["sitelinks"]["enwiki"]["title"]
    assert entities[PRIEBUS]["claims"] in ({}, [])
    assert found.written == len(entities)
    # One request for each revision, otherwise one for fifty entities.
    objects = sum(row["as_of"] == "current" for row in table(tmp_path).values())
    assert found.requests == len(entities) - objects + -(-objects // LIMIT)
    # A line has the form of a dump.
    assert (line["labels"], line["sitelinks"]) == (given["labels"], given["sitelinks"])
    assert list(claims) == list(given["claims"])
    datatypes = {each["mainsnak"]["datatype"] for group in claims.values() for each in group}
    assert {"time", "wikibase-item"} <= datatypes
    assert [*entities] == sorted(entities, key=lambda name: (name[0], int(name[1:])))
    # Answers that are too long are requested in parts.
    wiki.fits = 7
    assert fetch(wiki, tmp_path / "parts", PARTY).requests > found.requests
    assert written(tmp_path / "parts") == entities
    (agent,) = wiki.agents
    assert re.fullmatch(r"factdrift/\S+ \(tests@example\.org\)", agent)
    assert set(wiki.authorizations) == {""}


def test_objects_as_of_the_day(led, tmp_path):
    led.history[PRIEBUS] = labelled(led, PRIEBUS, "then", "between", "now, after the day", "later", "now")
    for name in ("now", "then"):
        fetch(led, tmp_path / name, PARTY, date="2016-01-01", objects=name == "then")
        found = written(tmp_path / name, "2016-01-01")[PRIEBUS]
        assert found["labels"]["en"]["value"] == name
    assert {row["as_of"] for row in table(tmp_path / "then", "2016-01-01").values()} == {"2016-01-01"}


def test_an_object_keeps_its_classes_and_dates_only(led, tmp_path):
    claims = {name: [statement(name, "Q900000002")] for name in ("P31", "P39", "P571")}
    stands(led, PRIEBUS, claims=claims)
    fetch(led, tmp_path, PARTY, objects=True)
    assert written(tmp_path)[PRIEBUS]["claims"].keys() == {"P31", "P571"}
    assert table(tmp_path)[900000002]["role"] == "class"
    # Pages of Wikimedia are known by their description.
    stands(led, PRIEBUS, descriptions={"en": {"language": "en", "value": "Wikimedia disambiguation page"}})
    fetch(led, tmp_path / "page", PARTY)
    entities = written(tmp_path / "page")
    assert entities[PRIEBUS]["claims"]["P31"][0]["mainsnak"]["datavalue"]["value"]["id"] == "Q4167410"
    assert "Q4167410" in entities


def test_missing_entities_are_left_out_and_named(wiki, tmp_path, capfd):
    wiki.history["Q5"] = []
    wiki.history["Q6"] = [("2020-06-01T00:00:00Z", wiki.entity("Q6"))]
    wiki.history["Q7"] = [("2014-01-01T00:00:00Z", wiki.entity("Q7")), ("2015-01-01T00:00:00Z", "Q278")]
    wiki.history["Q8"] = [("2014-01-01T00:00:00Z", None)]
    wiki.history["Q9"] = [("2013-02-01T00:00:00Z", {"entity": "q9", "label": {"en": "old"}, "links": []})]
    fetch(wiki, tmp_path, "Q278", "Q5", "Q6", "Q7", "Q8", "Q9", "P999999999")
    assert written(tmp_path).keys() >= {"Q278", "P999999999"}
    assert not written(tmp_path).keys() & {"Q5", "Q6", "Q7", "Q8", "Q9"}
    notes = {
        "Q5": "deleted, or never created",
        "Q6": "not yet created on that day",
        "Q7": "a redirect to Q278: merged before that day",
        "Q8": "the revision's content is hidden",
        "Q9": "the revision's content has an old form",
    }
    said = capfd.readouterr().err
    for name, note in notes.items():
        assert f"{name}: left out: {note}" in said
        assert table(tmp_path)[int(name[1:])]["note"] == note
    fetch(wiki, tmp_path, "Q7", date="2014-12-31")
    assert "Q7" in written(tmp_path, "2014-12-31")


def test_an_object_that_was_merged_since_is_fetched_as_of_the_day(led, tmp_path):
    led.history[PRIEBUS] = [*labelled(led, PRIEBUS, "then"), ("2021-01-01T00:00:00Z", MCDANIEL)]
    fetch(led, tmp_path, PARTY)
    assert written(tmp_path)[PRIEBUS]["labels"]["en"]["value"] == "then"
    assert table(tmp_path)[1357640]["as_of"] == "2019-01-01"


def test_a_list_of_missing_entities_and_a_day_that_is_not_over_are_refused(wiki, tmp_path):
    with pytest.raises(InputError, match="the day is not over"):
        fetch(wiki, tmp_path, "Q278", date="2999-01-01")
    assert not wiki.requests
    wiki.history["Q5"] = []
    with pytest.raises(InputError, match="none of the 1 entities existed on 2019-01-01"):
        fetch(wiki, tmp_path, "Q5")
    assert not list(tmp_path.glob("*.gz"))


def test_a_damaged_answer_in_the_store_is_named(wiki, tmp_path):
    fetch(wiki, tmp_path, "Q7290167")
    (path,) = tmp_path.rglob("Q7290167.json.gz")
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(InputError, match=r"Q7290167\.json\.gz: cannot be read as a stored answer"):
        fetch(wiki, tmp_path, "Q7290167")


def test_transient_failures_are_waited_for(wiki, tmp_path, capfd):
    fetch(wiki, tmp_path / "calm", "Q278")
    wiki.fail = ["maxlag", "", "429", "503", "", "cut", "garbage", "ratelimited"]
    waits: list[float] = []
    fetch(wiki, tmp_path / "rough", "Q278", waits=waits)
    assert written(tmp_path / "rough") == written(tmp_path / "calm")
    bases = (2, 2, 4, 2, 4, 8)
    assert all(0.75 * base <= wait <= 1.25 * base for wait, base in zip(waits, bases, strict=True))
    assert capfd.readouterr().err.count("; try ") == 6


def test_a_server_that_never_answers_ends_the_job_and_answers_are_kept(wiki, tmp_path):
    wiki.fail = ["", ""] + ["503"] * POLICY.tries
    with pytest.raises(InputError, match="run the same command again later"):
        fetch(wiki, tmp_path, "Q278")
    assert len(wiki.requests) == POLICY.tries + 2
    fetch(wiki, tmp_path, "Q278")
    asked = wiki.asked()
    assert max(asked.values()) == POLICY.tries + 1
    assert sorted(asked.values())[-2] == 1


@pytest.mark.parametrize("way", ["refused", "silent", "behind a proxy"])
def test_no_server_at_all(monkeypatch, way):
    def silent(*arguments: object, **options: object) -> None:
        raise TimeoutError

    url = "http://127.0.0.1:9/w/api.php"
    if way == "silent":  # as behind a firewall that drops packets
        monkeypatch.setattr("urllib3.util.connection.create_connection", silent)
    if way == "behind a proxy":
        monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
        url = "http://wiki.example/w/api.php"
    with pytest.raises(InputError, match="cannot be reached, after 3 tries"):
        asking(url).get({"action": "query"})


def test_refusals_end_the_job_at_once(wiki, tmp_path):
    api = asking(wiki.url)
    ids = "|".join(f"Q{n}" for n in range(1, 60))
    with pytest.raises(InputError, match=r"toomanyvalues: .*limit is 50"):
        api.get({"action": "wbgetentities", "ids": ids, "props": "labels", "languages": "en"})
    wiki.refused = "yes"
    with pytest.raises(InputError, match="refuses with status 403"):
        api.get({"action": "query"})
    assert len(wiki.requests) == 2


@pytest.mark.parametrize(
    ("part", "name", "answer"),
    [
        ("_query", PARTY, {"query": []}),
        ("_query", PARTY, {"query": {"pages": {"7": {}}}}),  # as of an older version of the API
        ("_query", PARTY, {"query": {"pages": [None]}}),
        ("_get_entities", PRIEBUS, {"entities": {PRIEBUS: None}}),
    ],
)
def test_answers_of_another_form_are_refused_and_not_kept(led, tmp_path, monkeypatch, part, name, answer):
    monkeypatch.setattr(led, part, lambda query: answer)
    with pytest.raises(InputError, match=rf"in the answer about {name}; is it Wikidata's API\?"):
        fetch(led, tmp_path, PARTY)
    assert not list(tmp_path.rglob(f"{name}.json.gz"))


def test_a_killed_run_is_continued(wiki, tmp_path, capsys):
    assert main(line(wiki, tmp_path / "whole", "Q278", PARTY)) == 0
    assert '"written"' in capsys.readouterr().out
    needed = len(wiki.requests)
    wiki.requests.clear()
    wiki.hold_at = needed // 2
    program = "import sys; from factdrift.cli import main; sys.exit(main(sys.argv[1:]))"
    again = line(wiki, tmp_path / "killed", "Q278", PARTY)
    run = subprocess.Popen([sys.executable, "-c", program, *again], stdout=subprocess.DEVNULL)
    wait_until(lambda: len(wiki.requests) >= needed // 2, run)
    run.kill()
    run.wait()
    wiki.hold_at = None
    assert not (tmp_path / "killed" / "dump.json.gz").exists()
    assert main(again) == 0
    # A kill can lose only the answer that was on its way.
    assert needed <= len(wiki.requests) <= needed + 1
    for name in ("dump.json.gz", "f.parquet"):
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_wikis_of_one_host_have_stores_of_their_own(tmp_path):
    urls = [f"https://wikis.org:8000{path}api.php" for path in ("/w/", "/other/w/", "/")]
    assert [store_of(tmp_path, url).name for url in urls] == [
        *("wikis.org_8000", "wikis.org_8000_other", "wikis.org_8000_api.php")
    ]


SECRET = "eyJ0-a-secret.token/of_the-user"


@pytest.fixture
def token(monkeypatch):
    monkeypatch.setenv(TOKEN_VARIABLE, f"{SECRET}\n")


def test_every_request_to_the_api_has_the_token_and_no_file_does(wiki, token, tmp_path, capfd):
    assert main(line(wiki, tmp_path, "Q278")) == 0
    assert set(wiki.authorizations) == {f"Bearer {SECRET}"}
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 3
    for path in files:
        data = path.read_bytes()
        assert SECRET.encode() not in (gzip.decompress(data) if path.suffix == ".gz" else data), path
    assert SECRET not in "".join(capfd.readouterr())


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        ("login", f"is the token in {TOKEN_VARIABLE} valid?"),
        ("403", "refuses with status 403 Forbidden: no: Bearer [key]"),
    ],
)
def test_a_server_that_repeats_the_token_does_not_bring_it_into_a_message(
    wiki, token, tmp_path, failure, said, capfd
):
    wiki.fail = [failure]
    assert main(line(wiki, tmp_path, "Q278")) == 1
    message = capfd.readouterr().err
    assert said in message
    assert SECRET not in message
    assert wiki.authorizations[f"Bearer {SECRET}"] == len(wiki.requests) == 1


def test_no_other_host_gets_the_token_not_even_by_a_redirect(token):
    with web.serving() as first, web.serving() as second:
        second.files["/there"] = second.files["/sums.txt"] = b"{}"
        first.moved["/here"] = f"{second.url}/there"
        client = Client(CONTACT, token=access_token(first.url))
        assert client.small(f"{first.url}/here") == client.small(f"{second.url}/sums.txt") == b"{}"
        asked = {each.path: each.authorization for each in first.asked + second.asked}
    assert asked == {"/here": f"Bearer {SECRET}", "/there": "", "/sums.txt": ""}


def test_other_machines_need_https(token):
    with pytest.raises(InputError, match="not sent unencrypted") as raised:
        access_token("http://127.0.0.1.example/")
    assert SECRET not in str(raised.value)
    assert SECRET not in repr(access_token("https://www.wikidata.org/w/api.php"))
