"""Probes of updates: conclusions, months and sentences, by hand."""

import calendar
import hashlib
import shutil
from collections import Counter
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.worlds import UNKNOWN, time_of

from factdrift.core.errors import InputError
from factdrift.core.paths import RIPPLES
from factdrift.ripples import facts as facts_of_buckets
from factdrift.ripples import tenure
from factdrift.ripples.build import inverses_of
from factdrift.ripples.criteria import Inputs, Maker
from factdrift.ripples.facts import kept_objects
from factdrift.ripples.tables import read_relations
from factdrift.ripples.tenure import Window, month_of
from factdrift.ripples.words import Words, usable_alias
from factdrift.ripples.world import DatedStatement, Fact, Name, Tables, Update, World, worlds
from factdrift.wikidata.tables import PROPERTIES
from factdrift.words.grammar import read_grammar
from factdrift.words.names import PLAIN, Usage, read_names, written
from factdrift.words.noun_phrases import read_noun_phrases

Row = dict[str, Any]
T_OLD, T_NEW = 20210104, 20230227
EVER = -(10**15)
GERMANY, MERKEL, SCHOLZ, ERNST, SAUER, BERLIN, STUTTGART = 183, 567, 61053, 88, 99, 64, 1022
NAMES = {
    GERMANY: Name("Germany", ("Federal Republic of Germany", "DE", "de"), PLAIN, 300),
    MERKEL: Name("Angela Merkel", (), PLAIN, 200),
    SCHOLZ: Name("Olaf Scholz", ("Scholz",), PLAIN, 100),
    ERNST: Name("Britta Ernst", (), PLAIN, 10),
    SAUER: Name("Joachim Sauer", (), PLAIN, 10),
    BERLIN: Name("Berlin", (), PLAIN, 250),
    STUTTGART: Name("Stuttgart", (), PLAIN, 150),
}
TEMPLATES = {
    6: ["The head of government of {subject} is {object}", "{subject} has a government led by {object}"],
    26: ["The spouse of {subject} is {object}"],
    36: ["The capital of {subject} is {object}"],
    17: ["The country of {subject} is {object}"],
}


def fact(subject: int, relation: int, value: int, old: int = 1, new: int = 1, gone: bool = False) -> Fact:
    statements = (f"Q{subject}$a" if old else None, f"Q{subject}$a" if new else None)
    return Fact(subject, relation, "wikibase-item", value, None, f"Q{value}", *statements, old, new, gone, 5)


def stated(
    value: int, start: int | None, end: int | None, dump: str = "new", snak: str = "value"
) -> DatedStatement:
    times = (start, start, False, end, end, False)
    return DatedStatement(dump, f"Q183${value}-{start}", value, f"Q{value}", snak, *times, False, False, True)


def update() -> Update:
    objects = [
        {"id": f"Q{SCHOLZ}", "label": "Olaf Scholz", "decision": "new", "new_statement": "Q183$n"},
        {"id": f"Q{MERKEL}", "label": "Angela Merkel", "decision": "obsolete", "new_statement": None},
    ]
    prompt = "The head of government of Germany is ____"
    return Update(GERMANY, 6, "ReplaceObject", prompt, [], "Germany", objects, [], [])


def world(facts: list[Fact], **changes: object) -> World:
    about: dict[int, dict[int, list[Fact]]] = {}
    pointing: dict[int, list[Fact]] = {}
    for each in facts:
        about.setdefault(each.subject, {}).setdefault(each.property, []).append(each)
        assert each.object is not None
        pointing.setdefault(each.object, []).append(each)
    new = [stated(MERKEL, 20051122, 20211208), stated(SCHOLZ, 20211208, None)]
    history = {(GERMANY, 6): [*new, stated(MERKEL, 20051122, None, "old")]}
    updated = frozenset({(GERMANY, 6)})
    made = World([], about, pointing, history, NAMES, frozenset(), {}, updated, frozenset(), {})
    return made._replace(**changes)  # type: ignore[arg-type]


def inputs() -> Inputs:
    words = Words(TEMPLATES, read_noun_phrases(), read_grammar(), read_names())
    return Inputs(words, read_relations(RIPPLES), T_OLD, T_NEW, 0)


def probes(facts: list[Fact], **changes: object) -> tuple[dict[str, list[dict[str, object]]], Counter[str]]:
    """Criterion -> probes of the update, and why others were left out."""
    dropped: Counter[tuple[str, str, str]] = Counter()
    found: dict[str, list[dict[str, object]]] = {}
    for row in Maker(world(facts, **changes), inputs(), dropped).probes(update()):
        found.setdefault(str(row["criterion"]), []).append(row)
    return found, Counter({f"{criterion} {reason}": n for (criterion, _, reason), n in dropped.items()})


@pytest.mark.parametrize(
    ("facts", "changes", "reason"),
    [
        ([], {"former": {GERMANY: {"Federal Republic of Germany East"}}}, "alias no_name"),
        ([fact(SCHOLZ, 26, ERNST), fact(MERKEL, 26, ERNST)], {}, "compose_object same_answer"),
        ([fact(SCHOLZ, 26, ERNST, old=0)], {}, "compose_object not_before"),
        ([fact(SCHOLZ, 26, ERNST, new=2)], {}, "compose_object not_unique"),
        ([fact(SCHOLZ, 36, GERMANY)], {}, "compose_object names_answer"),
        ([fact(BERLIN, 17, GERMANY, gone=True)], {}, "compose_subject gone"),
        ([fact(GERMANY, 17, GERMANY)], {}, "compose_subject same_item"),
        ([fact(BERLIN, 17, GERMANY, new=2)], {}, "compose_subject not_unique"),
        ([fact(BERLIN, 17, GERMANY, new=0)], {}, "compose_subject not_before"),
        ([fact(STUTTGART, 17, GERMANY)], {"ambiguous": {STUTTGART}}, "compose_subject ambiguous"),
        ([fact(GERMANY, 36, SCHOLZ)], {}, "specific new_object"),
        ([fact(GERMANY, 36, BERLIN, new=2)], {}, "specific not_unique"),
        ([fact(GERMANY, 36, BERLIN)], {"updated": {(GERMANY, 6), (GERMANY, 36)}}, "specific is_update"),
    ],
)
def test_what_says_nothing_is_left_out_with_a_reason(facts, changes, reason):
    found, dropped = probes(facts, **changes)
    assert reason.partition(" ")[0] not in found
    assert dropped[reason] == (3 if reason.startswith("alias") else 1)  # "DE" and "de" are no names either


DATES = (
    *(None, None, UNKNOWN, "-0044-03-15", "1915", "2019", "2020-03", "2020-03-31", "2020-11-30"),
    *("2020-12-01", "2021-01-04", "2021-01", "2021-02-01", "2021-05-02", "2022-03-01", "2022-12-31"),
    *("2023-02-27", "2023"),
)


def drawn_statements(dice: Random) -> list[DatedStatement]:
    """Statements of both dumps about three objects, of which many are in one dump only."""
    found = []
    for serial in range(dice.randrange(1, 5)):
        value, start, end = dice.choice((MERKEL, SCHOLZ, SAUER)), dice.choice(DATES), dice.choice(DATES)
        for dump in dice.choice((("old",), ("new",), ("old", "new"), ("old", "new"))):
            moments = []
            for moment in (start, end if dump == "new" or dice.random() < 0.5 else None):
                day = time_of(moment) if moment not in (None, UNKNOWN) else {"first": None, "last": None}
                moments += [day["first"], day["last"], moment == UNKNOWN]
            snak = "value" if dice.random() < 0.9 else "somevalue"
            measured, several, unsound = (dice.random() < 0.1 for _ in range(3))
            row = (dump, f"Q183${serial}", value, f"Q{value}", snak, *moments, measured, several)
            found.append(DatedStatement(*row, not unsound))
    return found


def months_of(
    stated: list[DatedStatement], key: str, window: Window, only: str | None, most: int
) -> dict[str, set[str]]:
    """Month -> the statements that prove that `key` held in all of it, where no other possibly did.

    Of each tenure the last `most` months count.
    """
    new = {row.statement for row in stated if row.dump == "new"}
    old = {row.statement for row in stated if row.dump == "old"}
    known = [row for row in stated if row.dump == "new" or row.statement not in new]
    starts = [row.start_last for row in known if row.key == f"Q{SCHOLZ}" and row.start_last is not None]
    found: dict[str, set[str]] = {}
    for row in known:
        plain = row.sound and row.snak == "value" and not (row.measured or row.several)
        dated = row.start_last is not None and not (row.start_unknown or row.end_unknown)
        if row.key != key or only not in (None, row.statement) or not plain or not dated:
            continue
        end = row.end_first
        if end is None:
            past = row.key == f"Q{MERKEL}" or row.dump == "old"
            end = (T_OLD if row.statement in old else 0) if past else T_NEW
        end = min(end, window.last)
        newest = product(range(end // 10_000 - 101, end // 10_000 + 1), range(1, 13))
        whole = [(year, month) for year, month in newest if last_day(year, month) <= end]
        for year, month in whole[-most:]:
            first, last = year * 10_000 + month * 100 + 1, last_day(year, month)
            possible = False
            for other in known:
                until = other.end_last
                if until is None:
                    until = min(starts, default=T_NEW) if other.key == f"Q{MERKEL}" else 10**9
                began = -(10**9) if other.start_first is None else other.start_first
                ever = other.measured and other.start_first is None
                possible |= other.key != key and (ever or (began <= last and first <= until))
            begin = max(row.start_last or 0, window.first)
            if 0 < begin <= first and not possible:
                found.setdefault(f"{year:04d}-{month:02d}", set()).add(row.statement)
    return found


def last_day(year: int, month: int) -> int:
    return year * 10_000 + month * 100 + calendar.monthrange(year, month)[1]


def test_months_are_those_in_which_no_other_holder_is_possible(monkeypatch: pytest.MonkeyPatch) -> None:
    dice, proven = Random(0), 0
    for _ in range(400):
        most = dice.choice((1, 3, 1200))
        monkeypatch.setattr(tenure, "_MOST", most)
        stated = drawn_statements(dice)
        for value, first, last in ((MERKEL, EVER, T_OLD - 1), (SCHOLZ, T_OLD + 1, T_NEW)):
            window = Window(T_OLD, T_NEW, first, last)
            for only in (None, dice.choice(stated).statement):
                months = months_of(stated, f"Q{value}", window, only, most)
                drawn = {hashlib.sha256(f"draw:{text}".encode()).hexdigest(): text for text in months}
                due = drawn[min(drawn)] if drawn else None
                made = month_of(stated, f"Q{value}", f"Q{MERKEL}", f"Q{SCHOLZ}", window, "draw", only)
                assert (made and made.date) == due
                if made and due:
                    proven += 1
                    assert (made.statement, made.words[-4:]) == (min(months[due]), due[:4])
    assert proven > 50


@pytest.mark.parametrize(
    ("t_old", "criterion", "begin", "end", "date"),
    [
        (20210131, "history_old", 20201215, 20211208, None),
        (20210201, "history_old", 20201215, 20211208, "2021-01"),
        (20210131, "history_new", 20210201, 20210315, "2021-02"),
        (20210201, "history_new", 20210201, 20210315, None),
    ],
)
def test_months_end_before_t_old_or_begin_after_it(t_old, criterion, begin, end, date):
    others = {"history_old": stated(SCHOLZ, 20220101, None), "history_new": stated(MERKEL, None, 20210115)}
    holder = MERKEL if criterion == "history_old" else SCHOLZ
    own = [stated(holder, begin, end), others[criterion]]
    before = fact(GERMANY, 6, MERKEL, new=0)._replace(old_statement=own[0].statement)
    given = world([before], stated={(GERMANY, 6): own})
    made = Maker(given, inputs()._replace(t_old=t_old), Counter()).probes(update())
    assert [row["date"] for row in made if row["criterion"] == criterion] == [date][: date is not None]


def test_what_is_new_is_listed_before_what_stays() -> None:
    names = [NAMES[item] for item in (MERKEL, SCHOLZ, ERNST)]
    lists = ("Angela Merkel", "Angela Merkel and Olaf Scholz", "Angela Merkel, Olaf Scholz and Britta Ernst")
    for number, listed in enumerate(lists, 1):
        said = inputs().words.besides(6, NAMES[GERMANY], Name("", (), PLAIN, 0), names[:number])
        assert said.prompt == f"Besides {listed}, the head of government of Germany is ____"
        assert said.rewording == f"Besides {listed}, Germany has a government led by ____"


def test_of_an_object_the_most_popular_subjects_and_drawn_ones_are_kept(monkeypatch):
    monkeypatch.setattr(facts_of_buckets, "OBJECTS_KEPT", 4)
    dice, seed = Random(0), 7
    names = ("subject", "property", "object", "old_statement", "new_statement", "gone", "old_values")
    names += ("new_values", "sitelinks")
    rows = [
        (subject, relation, value, *(dice.choice((None, "x", "x", "x")) for _ in range(2)),
         dice.random() < 0.2, dice.choice((1, 1, 1, 2)), dice.choice((1, 1, 1, 2)), dice.randrange(4))
        for subject in range(1, 60) for relation in (6, 17) for value in (1, 2) if dice.random() < 0.8
    ]  # fmt: skip

    def usable(row: tuple[Any, ...]) -> bool:
        return row[3] is not None and row[4] is not None and (*row[5:8],) == (False, 1, 1)

    def draw(row: tuple[Any, ...]) -> str:
        return hashlib.sha256(f"ripples object:{seed}:{row[1]}:{row[2]}:{row[0]}".encode()).hexdigest()

    due = set()
    for row in rows:
        rivals = [each for each in rows if (*each[1:3], usable(each)) == (*row[1:3], usable(row))]
        popular = sorted(rivals, key=lambda each: (-each[8], each[0]))
        if row in popular[:4] or row in sorted(rivals, key=draw)[:4]:
            due.add(row)
    table = pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows])
    found = duckdb.from_arrow(table).query("facts", f"FROM facts QUALIFY {kept_objects(seed)}").fetchall()
    assert set(found) == due
    assert len(found) == len(due) < len(rows)


def test_inverses_are_those_of_the_dump_and_of_the_table_where_the_dump_lacks_the_properties(tmp_path):
    rows = [{"id": number, "inverses": [], "is_symmetric": number == 26} for number in (26, 22, 47)]
    rows += [{"id": 36, "inverses": [1376], "is_symmetric": False}]
    pq.write_table(pa.Table.from_pylist(rows, schema=PROPERTIES), tmp_path / "p.parquet")
    table = {(22, 40), (40, 22), (47, 47), (802, 1066), (1066, 802), (451, 451)}
    found = inverses_of(tmp_path / "p.parquet", table)
    # The dump has P22 and P47, and does not state what the table does.
    assert found == {(36, 1376), (1376, 36), (26, 26), (802, 1066), (1066, 802), (451, 451)}


def test_aliases_that_are_names():
    names = {"Federal Republic of Germany": "Germany", "Amazon.com, Inc.": "Amazon", "Amy": "Amélie"}
    others = {"DE": "Germany", "cl": "Chile", "🇩🇪": "Germany", "the United States": "United States"}
    others |= {"germany": "Germany", "amazon.com": "Amazon", "F C B": "Bayern", "FCBayern": "Bayern"}
    others |= {"Unit 73": "Unit", "Die Welt": "World", "Prof.": "Professor", "Jr 1": "John", "-Amy": "Amélie"}
    others |= {"AcDc/Live": "Band", "Foo (band)": "Foo", "Foo_Bar": "Foo", "Amy@Home": "Amélie"}
    names |= {"Unit 7": "Seven", "Fcb": "Bayern"}
    for alias, label in (names | others).items():
        assert usable_alias(alias, label) is (alias in names), alias


def test_nicknames_take_an_article_inside_a_sentence():
    words = inputs().words
    names = [words.alias(each) for each in ("The Hub", "Bay State", "Federation of Saint Lucia", "Roma")]
    said = ["the Hub", "the Bay State", "the Federation of Saint Lucia", "Roma"]
    assert [written(name.label, name.usage) for name in names] == said


def test_names_have_their_articles_and_plurals_in_the_past():
    words = inputs().words._replace(templates={115: ["{subject} plays its home games at {object}"]})
    lakers, arena = Name("Lakers", (), Usage("the", True), 0), Name("Arena", (), Usage("the"), 0)
    made = words.past(115, lakers, arena, "May 2019")
    assert made is not None
    assert made.prompt == "In May 2019, the Lakers played their home games at the ____"
    assert words.past(9999, lakers, arena, "May 2019") is None


@pytest.mark.parametrize("bucket", ["0", "x-of-2", "0-of-x", "2-of-2", "-1-of-2"])
def test_a_bucket_is_less_than_their_number(bucket: str) -> None:
    paths = Tables(Path("x"), Path("x"), (), (), (), Path("x"), Path("x"))
    with pytest.raises(InputError, match=f"--bucket: '{bucket}' is not a bucket"):
        next(worlds(duckdb.connect(), paths, bucket, read_names(), 0))


@pytest.mark.parametrize(
    ("name", "line", "said"),
    [
        ("reverse.tsv", "P9\tThe head of {subject}\tx", "must contain"),
        ("reverse.tsv", "Q6\t{object} is {subject}\t{object} is {subject}", "correct it"),
        ("rules.tsv", "x\tP6\ts P1\to P39 z\tsource", "the premise 's P1' is no triple"),
        ("rules.tsv", "x\tP6\t\to P31 Q5\tsource", "the conclusion 'o P31 Q5' is no triple"),
        ("rules.tsv", "x\tP6\ts P31 Q5\to P39 z\tsource", "z is in the conclusion only"),
    ],
)
def test_a_wrong_row_is_named(tmp_path, name, line, said):
    shutil.copytree(RIPPLES, tmp_path, dirs_exist_ok=True)
    with (tmp_path / name).open("a") as file:
        file.write(line + "\n")
    with pytest.raises(InputError, match=rf"{name}, line .*({said})"):
        read_relations(tmp_path)
