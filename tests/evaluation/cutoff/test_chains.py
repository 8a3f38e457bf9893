"""Chains as questions: tenures from what the dumps prove, successions beside a stream, the bundled table."""

import datetime
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from factdrift.core.errors import InputError
from factdrift.core.paths import CUTOFF_CHAINS, RESOURCES
from factdrift.evaluation.questions.cutoff import (
    Asked,
    Tables,
    question,
    read_chains,
    with_dates,
    write_chains,
)
from factdrift.evaluation.questions.successions import read_successions
from factdrift.evaluation.questions.tenures import tenures
from factdrift.evaluation.scores.cutoff import changes
from factdrift.streams.timelines import EVER, NEVER_ENDS, UNNAMED, Tenure, day_number

FIRST, LAST = 20120101, 20241231
BOUNDS = ("certain_first", "certain_last", "possible_first", "possible_last")


def held(
    value: int, first: int, last: int, earliest: int | None = None, latest: int | None = None, **more: bool
) -> Tenure:
    possible = first if earliest is None else earliest, last if latest is None else latest
    return Tenure(value, (first, last), possible, **more)


def told(*timeline: Tenure) -> dict[int, list[tuple[int | None, int | None, float]]]:
    return {value: [tuple(each) for each in own] for value, own in tenures(timeline, FIRST, LAST).items()}


def test_days_of_a_change_count_half_for_each_holder() -> None:
    half = 20160301, 20160301, 0.5
    found = told(held(1, 20100101, 20160301), held(2, 20160301, LAST))
    assert found == {1: [(None, 20160229, 1.0), half], 2: [half, (20160302, None, 1.0)]}
    # Days on which both may have held.
    half = 20160302, 20160330, 0.5
    found = told(held(1, 20100101, 20160301, latest=20160331), held(2, 20160331, LAST, earliest=20160301))
    assert found == {1: [(None, 20160301, 1.0), half], 2: [half, (20160331, None, 1.0)]}
    # Where one holder alone is possible, the days are its own, and a vacancy is nobody's.
    found = told(held(1, 20100101, 20160101, latest=20161231), held(2, 20170301, LAST))
    assert found == {1: [(None, 20161231, 1.0)], 2: [(20170301, None, 1.0)]}


def test_a_holder_who_comes_back_has_two_tenures_and_doubted_and_former_ones_have_none() -> None:
    found = told(held(1, 20100101, 20140101), held(2, 20140102, 20180101), held(1, 20180102, LAST))
    assert found[1] == [(None, 20140101, 1.0), (20180102, None, 1.0)]
    # What is not known in between is its own, too.
    gap = held(1, 20100101, 20140101, latest=20140630), held(1, 20150101, LAST, earliest=20141001)
    assert told(*gap) == {1: [(None, 20140630, 1.0), (20141001, None, 1.0)]}
    old, doubted = held(1, 20000101, 20051231), held(4, 20130101, 20140101, doubted=True)
    assert [*told(old, held(2, 20060101, 20160101), held(3, 20160102, LAST), doubted)] == [2, 3]


NAMES: dict[int, tuple[str | None, list[str]]] = {
    1: ("Ann Old", ["A. Old"]),
    2: ("Bo New", []),
    3: (None, []),
}
CHANGE = [held(1, 20100101, 20160101), held(2, 20160102, LAST)]


def row_of(timeline: list[Tenure], place: str = "X", names: Any = NAMES) -> dict[str, Any] | str:
    """The question about who is the mayor of a place, or the reason that there is none."""
    prompts = [f"The mayor of {place} is"]
    asked = Asked("Q1-P6", "Q1", "P6", "X", "head of government", 1.0, prompts, timeline)
    return question(asked, names, FIRST, LAST)


def test_chains_that_cannot_be_asked_are_left_out_with_a_reason() -> None:
    row = row_of(CHANGE)
    assert isinstance(row, dict)
    assert [holder["label"] for holder in row["holders"]] == ["Ann Old", "Bo New"]
    for reason, timeline in (
        ("not_items", []),
        # Of two certain holders on more than a day, one after another or at once.
        ("several", [held(1, 20100101, 20160101), held(2, 20151231, LAST)]),
        ("several", [held(1, 20100101, LAST), held(2, 20120101, 20130101)]),
        ("one_holder", [held(1, 20100101, LAST)]),
        ("one_holder", [CHANGE[0], held(UNNAMED, 20160102, LAST)]),
        ("no_label", [CHANGE[0], held(3, 20160102, LAST)]),
    ):
        assert row_of(timeline) == reason
    assert row_of(CHANGE, place="Bo New City") == "in_prompt"
    assert row_of(CHANGE, names={1: ("Ann Old", ["bo new"]), 2: ("Bo New", [])}) == "same_name"


def death(subject: int, link: int, day: int, *said: str) -> dict[str, Any]:
    """A row of a stream: a date of death that a dump states, or several."""
    return {
        **{"chain": f"Q{subject}-P570", "link": link, "subject": {"id": f"Q{subject}", "label": "Ann"}},
        **{"relation": {"id": "P570", "label": "date of death"}, "subject_popularity": 1.0},
        **{"update_prompt": "Ann died on ____", "generalization_prompts": ["The death of Ann was on ____"]},
        "objects": [{"raw": each, "label": each, "decision": "new"} for each in said],
        **{"first_day": day, "last_day": day},
    }


def test_a_date_of_death_that_was_corrected_is_asked_once(tmp_path: Path) -> None:
    rows = [death(1, 1, 20160301, "1 March"), death(1, 2, 20160302, "2 March"), death(2, 1, 20160301, "x")]
    rows.append(death(3, 1, 20160401, "1 April", "2 April"))
    held = {name: pa.array([], pa.int64()) for name in ("subject", "property", "value", *BOUNDS)}
    entities = {"id": pa.array([], pa.int64()), "label": pa.array([], pa.string())}
    tables = {
        "stream": pa.Table.from_pylist(rows),
        "held": pa.table(held | {"doubted": pa.array([], pa.bool_())}),
        "entities": pa.table(entities | {"aliases": pa.array([], pa.list_(pa.string()))}),
    }
    for name, table in tables.items():
        pq.write_table(table, tmp_path / name)
    stream, timelines, items = (tmp_path / name for name in tables)
    dates = datetime.date(2012, 1, 1), datetime.date(2024, 12, 31)
    written, _ = write_chains(Tables(stream, [timelines], [items], None), dates, tmp_path / "chains")
    found = {row["chain"]: row for row in read_chains(tmp_path / "chains")}
    assert written == len(found) == 2
    assert (found["Q1-P570"]["died"], found["Q1-P570"]["holders"][0]["label"]) == (20160302, "2 March")
    assert found["Q2-P570"]["prompts"] == ["Ann died on", "The death of Ann was on"]


def successions(folder: Path, *rows: str) -> Path:
    table = folder / "successions.tsv"
    table.write_text("\n".join(["property\tsubject\tholder\tstart\tsource", *rows, ""]))
    return table


def test_a_succession_is_a_timeline_in_which_each_start_ends_the_holder_before(tmp_path: Path) -> None:
    rows = ("P6\tLake\tAnn\t\tS", "P6\tLake\t\t2016-03\tS", "P6\tLake\tBo\t2016-05-02\tS")
    (found,) = read_successions(successions(tmp_path, *rows), LAST)
    assert (found.relation, found.subject, found.names) == ("P6", "Lake", {1: "Ann", 2: "Bo"})
    assert found.prompts[0] == "The head of government of Lake is"
    first, vacant, second = found.timeline
    assert (first.certain and first.certain[1], first.possible) == (20160301, (EVER, 20160331))
    assert vacant == Tenure(UNNAMED, (20160331, 20160502), (20160301, 20160502))
    assert second == Tenure(2, (20160502, LAST), (20160502, NEVER_ENDS))


def test_a_wrong_row_of_a_succession_is_refused_with_its_line(tmp_path: Path) -> None:
    ann = "P6\tLake\tAnn\t\tS"
    for rows, message in (
        ([ann, "P6\tLake\tBo\t2016-13\tS"], "line 3: '2016-13' is no date"),
        (["P6\tLake\tAnn\t2017\tS", "P6\tLake\tBo\t2016\tS"], "line 3: 2016 is not after"),
        (["P6\tLake\tAnn\t2017\tS", "P6\tLake\tBo\t2017\tS"], "line 3: 2017 is not after"),
        ([ann, "P6\tLake\tBo\t2016\t"], "line 3: no source"),
        (["P999999\tLake\tAnn\t\tS"], "no template for P999999"),
        ([ann, "P6\tSea\tBo\t\tS", "P6\tLake\tCy\t2016\tS"], "line 4: P6 of Lake occurs"),
    ):
        with pytest.raises(InputError, match=message):
            list(read_successions(successions(tmp_path, *rows), LAST))


def test_the_bundled_chains_are_enough_in_every_quarter_and_share_no_day_by_more_than_one() -> None:
    chains = read_chains(CUTOFF_CHAINS)
    changed = [found for row in chains if row["died"] is None and (found := changes(row))]
    days = [change.day for found in changed for change in found]
    quarters = Counter((day // 10_000, (day // 100 % 100 + 2) // 3) for day in days)
    assert len(changed) >= 1200
    assert min(quarters[year, part] for year in range(2015, 2025) for part in (1, 2, 3, 4)) >= 20
    for row in chains:
        shares: Counter[int] = Counter()
        for each in (each for holder in row["holders"] for each in holder["tenures"]):
            begin, end = day_number(each["first"] or FIRST), day_number(each["last"] or LAST)
            shares.update({begin: each["share"], end: each["share"] if end > begin else 0})
        assert all(share <= 1 for share in shares.values()), row["chain"]


def test_the_bundled_chains_have_the_written_successions() -> None:
    bundled = {row["chain"]: row for row in read_chains(CUTOFF_CHAINS)}
    made = 0
    for one in read_successions(RESOURCES / "cutoff" / "successions.tsv", LAST):
        row = bundled.get(f"{one.subject}-{one.relation}")
        if row is None:
            continue
        made += 1
        expected = tenures(one.timeline, FIRST, LAST)
        expected.pop(UNNAMED, None)
        assert list(row["prompts"]) == list(one.prompts)
        got = {holder["label"]: holder["tenures"] for holder in row["holders"]}
        assert got == {one.names[item]: [each._asdict() for each in own] for item, own in expected.items()}
    assert made > 500


def test_a_date_of_death_has_other_dates_beside_it() -> None:
    chains = [row for row in read_chains(CUTOFF_CHAINS) if row["died"] is not None]
    asked_twice = with_dates(chains, 7)
    assert asked_twice == with_dates(chains, 7)
    for row in asked_twice:
        labels = [holder["label"] for holder in row["holders"]]
        assert len(set(labels)) == 4
        year, month, day = row["died"] // 10_000, row["died"] // 100 % 100, row["died"] % 100
        assert labels[0] == f"{datetime.date(year, month, day):%B} {day}, {year}"
