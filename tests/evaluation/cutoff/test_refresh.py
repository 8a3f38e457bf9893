"""Chains up to a later day, from servers on loopback that answer as Wikidata's do."""

import datetime
import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.commands import refusal
from support.recent import database_with_articles
from support.sparql import QueryService, query_service
from support.waiting import wait_until
from support.wikidata_api import Wiki, serving
from support.worlds import Date, Fact, World, datavalue_of

from factdrift.cli import main
from factdrift.core.paths import CUTOFF_CHAINS
from factdrift.core.tables import write_parquet
from factdrift.evaluation.questions.cutoff import CHAINS, SAMPLE_DATES, Left, dates_of, newest, read_chains
from factdrift.evaluation.questions.refresh import Servers, last_known, write_refreshed
from factdrift.evaluation.questions.refreshed import Dates, refreshed
from factdrift.evaluation.questions.tenures import Name
from factdrift.snapshots.api.client import LIMITS, POLICY, Api
from factdrift.snapshots.fetch import Client as ApiClient
from factdrift.sparql.client import Client
from factdrift.streams.timelines import EVER, NEVER_ENDS, Tenure
from factdrift.wikidata.ids import is_made_up

Row = dict[str, Any]
Answer = tuple[str | None, bool]
"""Why a chain is left out, or None; whether it is listed as changed since."""
UNTIL = datetime.date(2026, 6, 30)
NEW, TITLED = 700_000_000, 710_000_000
"""Numbers of new holders, and of items that are found by a title and of their holders, from here on."""


def text(day: int | None) -> str | None:
    return None if day is None else f"{day // 10_000:04}-{day // 100 % 100:02}-{day % 100:02}"


def snak(name: str, value: str | Row) -> Row:
    """A snak about an item, or a date as `datavalue_of` reads it."""
    if isinstance(value, str) and value[0] == "Q":
        data = {"value": {"entity-type": "item", "numeric-id": int(value[1:]), "id": value}}
        return {"snaktype": "value", "property": name, "datavalue": {**data, "type": "wikibase-entityid"}}
    return {
        "snaktype": "value",
        "property": name,
        "datavalue": {"value": datavalue_of(str(value)), "type": "time"},
    }


@dataclass
class Tomorrow:
    """What the servers say: (item, relation) -> statements, item -> names, and day of death."""

    claims: dict[tuple[str, str], list[Row]] = field(default_factory=lambda: defaultdict(list))
    labels: dict[str, str] = field(default_factory=dict)
    titles: dict[str, str] = field(default_factory=dict)
    dead: dict[str, str] = field(default_factory=dict)

    def holds(
        self, item: str, relation: str, holder: str, first: str | None = None, last: str | None = None
    ) -> None:
        """Adds a statement with a start and an end."""
        dates = {"P580": first, "P582": last}
        qualifiers = {name: [snak(name, day)] for name, day in dates.items() if day}
        own = self.claims[item, relation]
        claim = {"mainsnak": snak(relation, holder), "type": "statement", "rank": "normal"}
        own.append({**claim, "id": f"{item}${relation}-{len(own)}", "qualifiers": qualifiers})

    def states(self, row: Row, until: str | None = None) -> tuple[str, str]:
        """States what a row of CHAINS says, its last tenure up to a day; its subject and its last holder.

        Holders and subjects without an id, or with one that is made up, get an item with their name.
        """
        item, relation = self._item(row["subject"], row["subject_label"]), row["relation"]
        days = []
        for holder in row["holders"]:
            named = self._item(holder["id"], holder["label"])
            self.labels[named] = holder["label"]
            for own in holder["tenures"]:
                if own["share"] == 1:
                    days.append((own["first"] or 0, own["last"] or 99999999, named))
        for first, last, named in sorted(days):
            ends = until if last == 99999999 else text(last)
            self.holds(item, relation, named, text(first or None), ends)
        return item, max(days)[2]

    def _item(self, name: str | None, label: str) -> str:
        if name is not None and name[1:].isdigit() and not is_made_up(name):
            return name
        return self.titles.setdefault(label, f"Q{TITLED + len(self.titles)}")

    def fill(self, wiki: Wiki) -> None:
        """Puts all of this into a wiki."""
        by_item: dict[str, Row] = defaultdict(dict)
        for (item, relation), own in self.claims.items():
            by_item[item][relation] = own
        for item, day in self.dead.items():
            claim = {"mainsnak": snak("P570", day), "type": "statement", "rank": "normal"}
            by_item[item]["P570"] = [{**claim, "id": f"{item}$dead"}]
        articles = {item: title for title, item in self.titles.items()}
        for item in {*by_item, *self.labels}:
            entity = wiki.entity(item)
            entity["claims"] = by_item.get(item, {})
            if item in self.labels:
                entity["labels"] = {"en": {"language": "en", "value": self.labels[item]}}
            if title := articles.get(item):
                entity["sitelinks"] = {"enwiki": {"site": "enwiki", "title": title, "badges": []}}
            wiki.history[item] = [("2026-06-01T00:00:00Z", entity)]
        wiki.titles = dict(self.titles)


def living() -> list[Row]:
    """Chains whose last holder holds still; first those of items, then those of written successions."""
    rows = [row for row in read_chains(CUTOFF_CHAINS) if row["died"] is None]
    rows = [row for row in rows if row["holders"][-1]["tenures"][-1]["last"] is None]
    return [row for row in rows if not is_made_up(row["subject"])]


def test_a_chain_of_which_wikidata_says_the_same_stays_as_it_is():
    """All bundled chains, by statements that have their certain days."""
    dates = Dates(20120101, 20241231, 20260630)
    count = 0
    for row in living():
        names, timeline = dict[int, Name](), list[Tenure]()
        for number, holder in enumerate(row["holders"], 1):
            known = holder["id"] is not None and not is_made_up(holder["id"])
            value = int(holder["id"][1:]) if known else NEW + number
            names[value] = Name(f"Q{value}", holder["label"], holder["aliases"])
            for own in holder["tenures"]:
                if own["share"] == 1:
                    certain = own["first"] or 20000101, own["last"] or dates.last
                    possible = own["first"] or EVER, own["last"] or NEVER_ENDS
                    timeline.append(Tenure(value, certain, possible))
        made = refreshed(row, timeline, names, dates)
        assert not made.changed, row["chain"]
        assert not isinstance(made.row, Left), row["chain"]
        days = [[(each["label"], each["tenures"]) for each in of["holders"]] for of in (row, made.row)]
        assert days[0] == days[1], row["chain"]
        count += 1
    assert count > 1200


def begins(row: Row, label: str) -> int | None:
    """The first day of a holder."""
    return next(holder["tenures"][0]["first"] for holder in row["holders"] if holder["label"] == label)


class Plan:
    """A small world, and what is to become of each chain in it."""

    def __init__(self) -> None:
        rows = living()
        self.items = iter([row for row in rows if row["subject"][1:].isdigit()][::9])
        self.titled = iter([row for row in rows if not row["subject"][1:].isdigit()][::9])
        self.tomorrow, self.rows = Tomorrow(), list[Row]()
        self.expected = dict[str, Answer]()
        self.new = dict[str, tuple[str, int]]()
        """Chain -> the label of the new holder, and the first day on which it counts."""
        self.after: list[Callable[[Wiki], None]] = []

    def add(self, kind: str, row: Row) -> None:
        self.rows.append(row)
        self.expected[row["chain"]] = getattr(self, kind)(row) or (None, False)

    def _follows(self, row: Row, ended: str, begun: str) -> str:
        """States the chain, and that somebody else follows; the item of the subject."""
        item, _ = self.tomorrow.states(row, ended)
        holder = f"Q{NEW + len(self.rows)}"
        self.tomorrow.labels[holder] = f"Successor {len(self.rows)}"
        self.tomorrow.holds(item, row["relation"], holder, begun)
        self.new[row["chain"]] = self.tomorrow.labels[holder], int(begun.replace("-", ""))
        return item

    def stays(self, row: Row) -> None:
        self.tomorrow.states(row)

    def follows(self, row: Row) -> None:
        self._follows(row, "2025-07-03", "2025-07-04")

    def follows_by_month(self, row: Row) -> None:
        self._follows(row, "2025-09", "2025-10-02")

    def reported_late(self, row: Row) -> Answer:
        self._follows(row, "2024-11-09", "2024-11-10")
        return None, True

    def moved(self, row: Row) -> Answer:
        first = row["holders"][0]["tenures"][0]["last"]
        day = datetime.date.fromisoformat(text(first) or "") - datetime.timedelta(40)
        item, relation = row["subject"], row["relation"]
        for holder, dates in zip(row["holders"], (("2009-01-06", str(day)), (str(day), None)), strict=True):
            self.tomorrow.labels[holder["id"]] = holder["label"]
            self.tomorrow.holds(item, relation, holder["id"], *dates)
        return None, True

    def merged(self, row: Row) -> None:
        """Its item is now another one, and its last holder, too."""
        item = self._follows(row, "2025-07-03", "2025-07-04")
        into = f"Q{NEW + 1000 + len(self.rows)}"
        own = self.tomorrow.claims.pop((item, row["relation"]))
        self.tomorrow.claims[into, row["relation"]] = own
        self.after.append(lambda wiki: wiki.history.update({item: [("2026-01-01T00:00:00Z", into)]}))

    def unsaid(self, row: Row) -> Answer:
        return "unsaid", False

    def ended(self, row: Row) -> Answer:
        self.tomorrow.states(row, "2024-06-01")
        return "unsaid", False

    def deleted(self, row: Row) -> Answer:
        self.after.append(lambda wiki: wiki.history.update({row["subject"]: []}))
        return "absent", False

    def untitled(self, row: Row) -> Answer:
        return "absent", False

    def other(self, row: Row) -> Answer:
        """The article of that name is about something else."""
        item = self.tomorrow.titles.setdefault(row["subject_label"], f"Q{NEW + 3000}")
        self.tomorrow.holds(item, row["relation"], f"Q{NEW + 3001}", "2020-01-01")
        return "strange", False

    def several(self, row: Row) -> Answer:
        self._follows(row, "2025-09-01", "2025-03-01")
        self.new.pop(row["chain"])
        return "several", True

    def nameless(self, row: Row) -> None:
        """The new holder has no label, so nothing can be asked about it."""
        self.tomorrow.labels[self.tomorrow_holder(row)] = ""

    def tomorrow_holder(self, row: Row) -> str:
        self._follows(row, "2025-07-03", "2025-07-04")
        self.new.pop(row["chain"])
        return f"Q{NEW + len(self.rows)}"


def plan() -> Plan:
    made = Plan()
    for kind in ("stays", "follows", "follows_by_month", "reported_late", "merged", "several", "nameless"):
        for _ in range(2):
            made.add(kind, next(made.items))
    for kind in ("unsaid", "ended", "deleted"):
        made.add(kind, next(made.items))
    made.add("moved", next(row for row in made.items if len(row["holders"]) == 2 and simple(row)))
    for kind in ("stays", "follows", "other", "untitled"):
        made.add(kind, next(made.titled))
    died = [row for row in read_chains(CUTOFF_CHAINS) if row["died"] is not None]
    made.rows += [row for row in died if not is_made_up(row["subject"])][:3]
    first, second, _ = made.rows[-3:]
    made.tomorrow.dead |= {first["subject"]: text(first["died"]) or "", second["subject"]: "2016-01-02"}
    made.tomorrow.dead |= {"Q206": "2026-02-03", f"Q{NEW + 5000}": "2026-02-04", "Q7416": "2025-03"}
    made.tomorrow.dead["Q22686"] = "2026-06-30"
    return made


def simple(row: Row) -> bool:
    return all(len(holder["tenures"]) == 1 and holder["id"] for holder in row["holders"])


@contextmanager
def served(made: Plan, folder: Path) -> Iterator[tuple[Wiki, QueryService]]:
    """Both servers; the chains are written into the folder."""
    write_parquet(pa.Table.from_pylist(made.rows, CHAINS), folder / "chains.parquet")
    facts = [Fact(int(item[1:]), 570, Date(day)) for item, day in made.tomorrow.dead.items()]
    World(new=sorted(facts, key=lambda fact: fact.s)).write(folder / "world")
    statements, entities, properties = (
        folder / f"world/new/{name}.parquet" for name in ("statements", "entities", "properties")
    )
    database = database_with_articles([statements], [entities], properties, (570,), folder / "world")
    with serving(Wiki()) as wiki, query_service(database) as service:
        made.tomorrow.fill(wiki)
        for change in made.after:
            change(wiki)
        yield wiki, service


PROGRAM = [sys.executable, "-c", "import sys; from factdrift.cli import main; sys.exit(main(sys.argv[1:]))"]


def line(wiki: Wiki, service: QueryService, folder: Path) -> list[str]:
    """The arguments of `cutoff refresh`."""
    given = ["--until", UNTIL, "--contact=tests@example.org", "--chains", folder / "chains.parquet"]
    given += ["--api", wiki.url, "--endpoint", service.url, "--folder", folder / "out"]
    return ["cutoff", "refresh", *map(str, given)]


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> tuple[Plan, Path, str]:
    """The plan, the folder of a run that nothing disturbed, and what it printed."""
    made, folder = plan(), tmp_path_factory.mktemp("refresh")
    with served(made, folder) as (wiki, service):
        run = subprocess.run([*PROGRAM, *line(wiki, service, folder)], capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        assert service.offences == []
        assert wiki.busiest == 1
    return made, folder, run.stdout


def result(folder: Path) -> tuple[dict[str, Row], Row]:
    """Chain -> its row, and the manifest."""
    path = folder / "out" / f"chains-{UNTIL}.parquet"
    rows = {row["chain"]: row for row in read_chains(path)}
    return rows, json.loads(path.with_suffix(".json").read_text("utf-8"))


def test_chains_go_on_as_wikidata_says_and_others_are_left_out_with_a_reason(whole):
    made, folder, out = whole
    rows, manifest = result(folder)
    former = {row["chain"]: row for row in made.rows if row["died"] is None}
    assert {chain for chain, (reason, _) in made.expected.items() if reason is None} == {*rows} & {*former}
    reasons = [reason for reason, _ in made.expected.values() if reason]
    assert manifest["left_out"] == {reason: reasons.count(reason) for reason in sorted({*reasons})}
    changed = [chain for chain, (reason, since) in made.expected.items() if since and reason is None]
    assert [chain for chain in manifest["changed_since"] if chain in former] == sorted(changed)
    for chain, (label, day) in made.new.items():
        assert begins(rows[chain], label) == day, chain
    for chain, (reason, since) in made.expected.items():
        if reason is None and not since:
            until = [list(holder["tenures"]) for holder in former[chain]["holders"]]
            now = [holder["tenures"] for holder in rows[chain]["holders"]][: len(until)]
            until[-1][-1] = now[-1][-1]  # the last holder's end is what is new
            assert [own["first"] for each in now for own in each] == [
                own["first"] for each in until for own in each
            ]
    assert rows[made.rows[0]["chain"]] == former[made.rows[0]["chain"]]
    assert "left out: Wikidata names none of the holders that the chain has" in out
    assert f"changed since: {', '.join(manifest['changed_since'])}" in out


def test_deaths_are_those_of_subjects_holders_and_the_samples_items(whole):
    made, folder, _ = whole
    rows, manifest = result(folder)
    first, second, third = (row["chain"] for row in made.rows[-3:])
    died = {chain: row["died"] for chain, row in rows.items() if row["died"] is not None}
    assert died == {
        first: made.rows[-3]["died"],
        second: 20160102,
        third: made.rows[-1]["died"],
        "Q206-P570": 20260203,
        "Q22686-P570": 20260630,
    }
    assert second in manifest["changed_since"]
    assert rows[second]["holders"][0]["label"] == "January 2, 2016"
    assert [*rows][-2:] == ["Q206-P570", "Q22686-P570"]
    assert rows["Q206-P570"]["prompts"][0].startswith("The date of death of ")
    assert manifest["deaths"] == 5


def test_the_manifest_accounts_for_requests_revisions_and_quarters(whole):
    made, folder, out = whole
    rows, manifest = result(folder)
    # Titles, subjects, properties, the dead, and more than fifty holders; a query a month.
    assert manifest["requests"] == {"api": 6, "query_service": 18}
    assert manifest["redirects"].keys() == {row["subject"] for row in made.rows[8:10]}
    held = {holder["id"] for row in rows.values() for holder in row["holders"] if row["died"] is None}
    assert {*held} <= manifest["revisions"].keys()
    assert all(manifest["revisions"].values())
    assert manifest["changes"]["2025-Q3"] == 5
    assert manifest["changes"]["2025-Q4"] == 2
    # Fewer than 30 in each quarter: the last day is that of the former chains.
    assert manifest["dates"] == ["2012-01-01", "2024-12-31"]
    path = folder / "out" / f"chains-{UNTIL}.parquet"
    assert tuple(map(str, dates_of(path))) == ("2012-01-01", "2024-12-31")
    assert "a date after 2024-12-31 is `after`" in out
    assert not any(b"tests@example.org" in each.read_bytes() for each in folder.rglob("*.json"))


def test_faults_of_both_servers_change_nothing(whole, tmp_path):
    """429s, lag, an HTML page with status 200, cut answers, answers that are too long."""
    made = plan()
    with served(made, tmp_path) as (wiki, service):
        wiki.fail = ["429", "", "garbage", "maxlag", "", "cut", "503"]
        wiki.fits = 7
        service.faults = ["429", "", "html", "", "truncated", "500", "", "reset"]
        waits: list[float] = []
        api = Api(wiki.url, ApiClient("tests@example.org", POLICY, LIMITS, waits.append))
        clock, folder = service.clock, tmp_path / "out" / str(UNTIL)
        asking = Client(
            service.url, "tests@example.org", folder, clock.sleep, lambda low, high: high, clock.time
        )
        write_refreshed(tmp_path / "chains.parquet", UNTIL, Servers(api, asking, folder), tmp_path / "out")
        assert (wiki.fail, service.faults, service.offences) == ([], [], [])
        assert waits
    assert same(tmp_path, whole[1])


def same(folder: Path, other: Path) -> bool:
    name = f"out/chains-{UNTIL}.parquet"
    return (folder / name).read_bytes() == (other / name).read_bytes()


@pytest.mark.parametrize("server", ["api", "service"])
def test_a_killed_run_goes_on_and_asks_for_nothing_twice(server, whole, tmp_path):
    made = plan()
    with served(made, tmp_path) as (wiki, service):
        holding: Wiki | QueryService = wiki if server == "api" else service
        holding.hold_at = 3 if server == "api" else 9
        command = line(wiki, service, tmp_path)
        run = subprocess.Popen([*PROGRAM, *command], stdout=subprocess.DEVNULL)
        asked = lambda: len(wiki.requests) if server == "api" else len(service.asked)  # noqa: E731
        wait_until(lambda: asked() >= (holding.hold_at or 0), run)
        run.kill()
        run.wait()
        holding.hold_at = None
        assert not list((tmp_path / "out").glob("chains-*"))
        assert main(command) == 0
        # A kill can lose only the answer that was on its way.
        assert len(wiki.requests) <= 6 + (server == "api")
        assert len(service.asked) <= 18 + (server == "service")
        before = len(wiki.requests), len(service.asked)
        assert main(command) == 0
        assert (len(wiki.requests), len(service.asked)) == before
    assert same(tmp_path, whole[1])


def test_what_is_wrong_is_reported_before_anything_is_asked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FACTDRIFT_CONTACT", raising=False)
    for given, message in (
        ("--contact nobody", "contact: 'nobody' is no mail or web address"),
        ("--until 2999-01-01", "--until 2999-01-01: the day is not over"),
        ("--until 2024-12-31", "end on 2024-12-31; give a later day"),
        ("--api wikidata.org", "--api wikidata.org: no http(s) address"),
        ("--endpoint ftp://x", "--endpoint ftp://x: no http(s) address"),
    ):
        assert message in refusal("cutoff", "refresh", "--contact", "tests@example.org", *given.split())
    assert not list(tmp_path.iterdir())


def test_the_newest_chains_are_asked_about(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert newest() == CUTOFF_CHAINS
    assert dates_of(CUTOFF_CHAINS) == SAMPLE_DATES
    folder = Path("results/fetched/cutoff")
    folder.mkdir(parents=True)
    for day in ("2026-03-31", "2026-06-30", "2025-12-31"):
        (folder / f"chains-{day}.parquet").write_bytes(b"")
    assert newest() == folder / "chains-2026-06-30.parquet"
    assert "chains-2026-06-30.parquet: it is no Parquet file" in refusal("cutoff", "sample")


def test_the_last_quarters_with_few_changes_are_marked():
    former, until = datetime.date(2024, 12, 31), datetime.date(2026, 5, 20)
    counts = {"2025-Q1": 40, "2025-Q2": 30, "2025-Q3": 5, "2025-Q4": 31, "2026-Q1": 29, "2026-Q2": 2}
    for change, last in (
        ({}, "2025-12-31"),
        ({"2026-Q1": 30}, "2026-03-31"),
        ({"2026-Q2": 30}, "2026-05-20"),
        ({"2025-Q4": 0}, "2025-06-30"),
        (dict.fromkeys(counts, 29), "2024-12-31"),
    ):
        assert str(last_known(counts | change, former, until)) == last
