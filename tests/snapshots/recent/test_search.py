"""Which items are found, against a plain reading of the facts, with and without faults of the server."""

import datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples
from support.ripples import HUMAN, kinds
from support.sparql import QueryService, query_service
from support.worlds import Date, Fact, World, time_of

from factdrift.core.errors import InputError
from factdrift.snapshots.recent.search import Changes, Search, chosen, search
from factdrift.sparql.client import POLICY, Client

from .conftest import database_of

HEAD, STATE, DEATH, TEAM = 6, 35, 570, 54
RELATIONS = (HEAD, STATE, TEAM, DEATH)
DATES = (
    *("2025-12-31", "2026-01-01", "2026-01-31", "2026-02-01", "2026-02-28", "2026-03-15", "2026-04-01"),
    *("2025-12", "2026-01", "2026-02", "2026-03", "2025", "2026"),
    *("2020s", "2026/7", "-0044-03-15", "unknown"),
)
FAULTS = ("429", "500", "html", "truncated", "reset", "503", "429 bare", "500 timeout", "drip")


def facts() -> list[Fact]:
    """Each date as start, end, point in time and value, of items with and without an English article."""
    found = []
    for place, date in enumerate(DATES):
        item = 100 + 10 * place
        found += [
            Fact(item, HEAD, 3, start=date),
            Fact(item + 1, HEAD, 3, start="2001", end=date),
            Fact(item + 2, STATE, 4, start="2001-01-01", rank="deprecated", end=date),
            Fact(item + 3, TEAM, 5, start=("2003-01-01", date) if date != "unknown" else date),
            Fact(item + 4, HEAD, 3),
        ]
        if date != "unknown":
            found += [
                Fact(item + 5, STATE, 4, pit=date),
                Fact(item + 6, DEATH, Date(date)),
                Fact(item + 7, STATE, 4, start=date),
            ]
    return sorted(found, key=lambda fact: fact.s)


FACTS = facts()
BARE = frozenset(fact.s for fact in FACTS if fact.s % 10 == 7)
"""Items without an English article."""
SINCE, UNTIL = datetime.date(2026, 1, 1), datetime.date(2026, 4, 1)


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    folder = tmp_path_factory.mktemp("world")
    new = sorted([*FACTS, *kinds(Q3=(HUMAN,))], key=lambda fact: fact.s)
    World(new=new, no_article=BARE).write(folder)
    return database_of(folder, RELATIONS)


@pytest.fixture(scope="module")
def open_service(database):
    with query_service(database) as found:
        yield found


@pytest.fixture
def service(database):
    with query_service(database) as found:
        yield found
        assert found.offences == []


def client(service: QueryService, answers: Path | None = None) -> Client:
    clock = service.clock
    return Client(service.url, "me@example.org", answers, clock.sleep, lambda low, high: high, clock.time)


def first_days(fact: Fact) -> list[tuple[int, datetime.date]]:
    """(precision, first day) of the dates of a fact, without those that Python cannot hold."""
    written = [fact.start, fact.end, fact.pit, fact.o.text if isinstance(fact.o, Date) else None]
    texts = [text for each in written for text in (each if isinstance(each, tuple) else (each,))]
    times = [time_of(text) for text in texts if text not in (None, "unknown")]
    return [
        (time["precision"], datetime.date(time["year"], max(time["month"], 1), max(time["day"], 1)))
        for time in times
        if time["year"] > 0
    ]


def plainly(since: datetime.date, until: datetime.date, scope: str = "enwiki") -> dict[int, set[int]]:
    """What `search` is to find, by looking at every fact."""
    found: dict[int, set[int]] = {}
    for fact in FACTS:
        inside = any(level >= 9 and since <= day < until for level, day in first_days(fact))
        if inside and fact.rank != "deprecated" and (scope == "all" or fact.s not in BARE):
            found.setdefault(fact.s, set()).add(fact.p)
    return found


def found_by(
    asking: Client, since: datetime.date = SINCE, until: datetime.date = UNTIL, **keys: object
) -> Changes:
    return search(asking, Search(RELATIONS, since, until, **keys))


DAYS = st.dates(datetime.date(2025, 11, 20), datetime.date(2026, 5, 1))


@given(st.sets(DAYS, min_size=2, max_size=2), st.sampled_from(["enwiki", "all"]))
@settings(max_examples=examples(25))
def test_items_with_a_date_inside_are_found(open_service, days, scope):
    since, until = sorted(days)
    found = found_by(client(open_service), since, until, scope=scope)
    assert found == plainly(since, until, scope)
    assert list(found) == sorted(found)


def test_faults_do_not_change_what_is_found(service, tmp_path):
    """Every fault occurs; a second run takes all answers from the store, without a server."""
    service.faults = [each for fault in FAULTS for each in (fault, "")]
    assert found_by(client(service, tmp_path)) == plainly(SINCE, UNTIL)
    assert service.faults == []
    asked = len(service.asked)
    again = client(service, tmp_path)
    assert found_by(again) == plainly(SINCE, UNTIL)
    assert (len(service.asked), again.requests) == (asked, 0)


def test_a_query_that_times_out_is_asked_for_in_halves(service, tmp_path):
    """The server ends an answer with a Java exception, with status 200, as the Query Service does."""
    service.faults = ["truncated", "", "truncated"]
    found = found_by(client(service, tmp_path))
    assert found == plainly(SINCE, UNTIL)
    assert len(service.asked) == 3 * len(RELATIONS) + 2 * 2
    # That a query was too much is kept too, so that another run begins with the halves.
    assert found_by(client(service, tmp_path)) == found
    assert len(service.asked) == 3 * len(RELATIONS) + 2 * 2


def test_a_single_day_that_always_times_out_ends_the_run(service, tmp_path):
    service.always = "500 timeout"
    with pytest.raises(InputError, match="given up after 8 tries"):
        found_by(client(service, tmp_path))
    days = [query for _, query in service.asked if query.count("2026-01-01T00:00:00Z") == 4]
    assert days[-POLICY.tries :] == [days[-1]] * POLICY.tries
    assert days[-1].count("T00:00:00Z") == 4  # one day in each of four branches


class OddServer:
    """A server that answers every query with one row."""

    url = "http://odd.example/sparql"

    def __init__(self, row: dict[str, dict[str, str]]) -> None:
        self.row = row

    def rows(self, query: str, divisible: bool) -> list[dict[str, dict[str, str]]]:
        return [self.row]


def test_rows_of_another_form_are_refused_and_other_entities_left_out():
    with pytest.raises(InputError, match=r"a row of an answer .* is this a server with Wikidata's RDF"):
        search(OddServer({"s": {"type": "literal", "value": "Q1"}}), Search([HEAD], SINCE, UNTIL))
    row = {"s": {"type": "uri", "value": "http://www.wikidata.org/entity/P31"}}
    assert search(OddServer(row), Search([HEAD], SINCE, UNTIL)) == {}


@given(
    st.dictionaries(st.integers(1, 50), st.frozensets(st.sampled_from([6, 35, 54]), min_size=1), max_size=30),
    st.integers(1, 40),
)
def test_the_limit_shares_places(found, limit):
    items = chosen(found, limit)
    assert items == sorted(set(items))
    assert len(items) == min(limit, len(found))
    for relation in (6, 35, 54):
        of_relation = sorted(item for item in found if relation in found[item])
        # What is chosen of a relation for its own sake are its first items.
        share = limit // 3
        assert set(of_relation[:share]) <= set(items)
