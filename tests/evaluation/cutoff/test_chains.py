"""Chains of a stream: tenures from what dumps prove, written successions, the bundled table, questions."""

import datetime
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from factdrift.core.errors import InputError
from factdrift.core.paths import CUTOFF_CHAINS, RESOURCES
from factdrift.evaluation.questions.cutoff import (
    FORM,
    Left,
    drawn,
    questions_of,
    read,
    read_chains,
    row_of,
    with_dates,
    write_chains,
)
from factdrift.evaluation.questions.prompts import filled
from factdrift.evaluation.questions.question import Tables
from factdrift.evaluation.questions.tenures import Chain, Name, Several, changes, read_successions, tenures
from factdrift.streams.timelines import EVER, NEVER_ENDS, UNNAMED, Tenure, day_number
from factdrift.wikidata.time import pack_date

FIRST, LAST = 20120101, 20241231
BOUNDS = ("certain_first", "certain_last", "possible_first", "possible_last")
Row = dict[str, Any]


def period(value: int, first: int, last: int, earliest: int = 0, latest: int = 0, **more: bool) -> Tenure:
    return Tenure(value, (first, last), (earliest or first, latest or last), **more)


BEGIN = datetime.date(2012, 1, 1).toordinal()
SPANS = st.lists(
    # The holder; days since the end of the last one, of certainty, and of doubt before and after.
    st.tuples(*(st.integers(low, high) for low, high in ((1, 3), (0, 6), (0, 4), (0, 5), (0, 5)))),
    min_size=1,
    max_size=6,
)


@given(SPANS, st.integers(-12, 4), st.integers(0, 30), st.sampled_from((EVER, None)))
def test_each_day_counts_for_those_who_may_have_held(drawn, shift, length, ever):
    """Day by day, beside a plain reading of what is certain and what is possible."""
    day, spans = BEGIN + shift, list[tuple[int, int, int, int, int]]()
    for value, gap, certain, before, after in drawn:
        first = day + gap
        day = first + certain
        spans.append((first, day, value, first - before, day + after))
    packed = lambda ordinal: pack_date(datetime.date.fromordinal(ordinal))  # noqa: E731
    timeline = [
        period(value, packed(first), packed(last), packed(earliest), packed(latest))
        for first, last, value, earliest, latest in spans
    ]
    if ever is not None:
        timeline[0] = timeline[0]._replace(possible=(EVER, timeline[0].possible[1]))
        timeline[-1] = timeline[-1]._replace(possible=(timeline[-1].possible[0], NEVER_ENDS))
    timeline += [period(9, FIRST, LAST, doubted=True), Tenure(8, None, (FIRST, LAST))]
    joined: list[list[int]] = []
    for first, last, value, earliest, latest in sorted(spans, key=lambda span: span[:3]):
        if joined and joined[-1][2] == value and first <= joined[-1][1] + 1:
            joined[-1][1], joined[-1][4] = max(last, joined[-1][1]), max(latest, joined[-1][4])
        else:
            joined.append([first, last, value, earliest, latest])
    overlap = any(after[0] < before[1] or after[1] <= before[1] for before, after in pairwise(joined))
    if overlap:
        with pytest.raises(Several):
            tenures(timeline, FIRST, packed(BEGIN + length))
        return
    joined = [span for span in joined if span[1] >= BEGIN and span[0] <= BEGIN + length]
    found = tenures(timeline, FIRST, packed(BEGIN + length))
    for moment in range(BEGIN - 30, BEGIN + 90) if joined else ():
        shares: dict[int, float] = defaultdict(float)
        for value, own in found.items():
            for tenure in own:
                begin, end = (bound and day_number(bound) for bound in tenure[:2])
                if (begin is None or begin <= moment) and (end is None or moment <= end):
                    shares[value] += tenure.share
        here = {span[2] for span in joined if span[0] <= moment <= span[1]}
        if not here:
            earlier = [span for span in joined if span[1] < moment]
            later = [span for span in joined if span[0] > moment]
            here = {span[2] for span in earlier[-1:] if moment <= span[4] or not later}
            here |= {span[2] for span in later[:1] if moment >= span[3] or not earlier}
        assert shares == {value: 1 / len(here) for value in here}
    bounds = [bound for own in found.values() for tenure in own for bound in tenure[:2]]
    assert bounds.count(None) == 2 * bool(joined)


def chain(timeline: list[Tenure], place: str = "X", names: dict[int, Name] | None = None) -> Chain:
    """The question about who is the mayor of a place."""
    known = {1: Name("Q1", "Ann Old", ["A. Old"]), 2: Name("Q2", "Bo New"), 3: Name("Q3", None)}
    named = ("Q1-P6", "Q1", "P6", "X", "head of government", 1.0)
    return Chain(*named, [f"The mayor of {place} is"], timeline, names or known)


def test_chains_that_cannot_be_asked_are_left_out_with_a_reason():
    old, new = period(1, 20100101, 20160101), period(2, 20160102, LAST)
    row = row_of(chain([old, new]), FIRST, LAST)
    assert not isinstance(row, Left)
    assert [(holder["id"], holder["label"], holder["aliases"]) for holder in row["holders"]] == [
        ("Q1", "Ann Old", ["A. Old"]),
        ("Q2", "Bo New", ()),
    ]
    alike = {1: Name("Q1", "Ann Old", ["bo new"]), 2: Name("Q2", "Bo New")}
    for reason, asked in (
        ("not_items", chain([])),
        # Of two certain holders on more than a day, one after another or at once.
        ("several", chain([old, period(2, 20151231, LAST)])),
        ("several", chain([period(1, 20100101, LAST), period(2, 20120101, 20130101)])),
        ("one_holder", chain([period(1, 20100101, LAST)])),
        ("one_holder", chain([old, period(UNNAMED, 20160102, LAST)])),
        ("no_label", chain([old, period(3, 20160102, LAST)])),
        ("no_label", chain([old, period(7, 20160102, LAST)])),
        ("in_prompt", chain([old, new], place="Bo New City")),
        ("same_name", chain([old, new], names=alike)),
    ):
        assert row_of(asked, FIRST, LAST) == Left(reason)


def test_chains_are_made_of_a_stream_with_the_last_date_of_each_death(tmp_path):
    """The newest label counts, and a written succession only where the stream has none."""

    def update(chain: str, link: int, day: int, label: str, *objects: str) -> Row:
        subject, relation = chain.split("-")
        return {
            **{"chain": chain, "link": link, "subject": {"id": subject, "label": label}},
            **{"relation": {"id": relation, "label": "of"}, "subject_popularity": 1.0},
            **{
                "update_prompt": f"{label} has ____",
                "generalization_prompts": [f"Of {label} is ____", "____ x"],
            },
            "objects": [{"raw": each, "label": each, "decision": "new"} for each in objects],
            **{"first_day": day, "last_day": day},
        }

    updates = [
        *(update("Q1-P570", 1, 20160301, "Ann", "1"), update("Q1-P570", 2, 20160302, "Ann", "2")),
        *(update("Q2-P570", 1, FIRST, "Bo", "x"), update("Q4-P570", 1, LAST, "Di", "z")),
        *(update("Q3-P570", 1, 20160401, "Cy", "1", "2"), update("Q5-P570", 1, FIRST - 1, "Ed", "y")),
        *(update("Q10-P6", 1, 20160102, "Lake", "Q8"), update("Q9-P6", 2, 20160102, "Sea", "Q8")),
        *(update("Q9-P6", 1, 20160102, "Old Sea", "Q8"), update("Q11-P6", 1, 20160102, "Bay", "Q8")),
    ]
    periods = [
        {
            "subject": subject,
            "property": 6,
            "value": value,
            "doubted": False,
            "dated": True,
            **dict(zip(BOUNDS, days, strict=True)),
        }
        for subject in (9, 10)
        for value, days in ((7, (FIRST, 20160101) * 2), (8, (20160102, LAST) * 2))
    ]
    items = [
        [(7, "Old name", ["Alias"]), (8, "Bo", None)],
        [(7, "Name", ["Name", "Alias"]), (8, None, None), (6, "Nobody", None)],
    ]
    pq.write_table(pa.Table.from_pylist(updates), tmp_path / "stream")
    pq.write_table(pa.Table.from_pylist(periods), tmp_path / "timelines")
    columns = pa.schema([("id", pa.int64()), ("label", pa.string()), ("aliases", pa.list_(pa.string()))])
    for number, rows in enumerate(items):
        table = pa.Table.from_pylist([dict(zip(columns.names, row, strict=True)) for row in rows], columns)
        pq.write_table(table, tmp_path / f"items{number}")
    beside = successions(
        tmp_path, "P6\tSea\tAnn\t\tS", "P6\tSea\tBo\t2016\tS", "P6\tMoor\tAnn\t\tS", "P6\tMoor\tBo\t2016\tS"
    )
    entities = [tmp_path / f"items{number}" for number in range(2)]
    tables = tmp_path / "stream", [tmp_path / "timelines"], entities, beside
    dates = datetime.date(2012, 1, 1), datetime.date(2024, 12, 31)
    written, left_out = write_chains(*tables, dates, tmp_path / "chains")
    chains = read_chains(tmp_path / "chains")
    assert written == len(chains)
    assert left_out == {"not_items": 1, "known": 1}
    assert [row["chain"] for row in chains] == [
        *("Q9-P6", "Q10-P6", "Moor-P6", "Q1-P570", "Q2-P570", "Q4-P570")
    ]
    assert chains[0]["prompts"] == ["Sea has", "Of Sea is"]
    named = [(holder["id"], holder["label"], holder["aliases"]) for holder in chains[0]["holders"]]
    assert named == [("Q7", "Name", ["Alias", "Old name"]), ("Q8", "Bo", [])]
    assert (chains[3]["died"], chains[3]["holders"][0]["label"]) == (20160302, "2")


def successions(folder: Path, *rows: str) -> Path:
    table = folder / "successions.tsv"
    table.write_text("\n".join(["property\tsubject\tholder\tstart\tsource", *rows, ""]))
    return table


def test_a_succession_is_a_timeline_in_which_each_start_ends_the_holder_before(tmp_path):
    rows = ("P6\tLake\tAnn\t\tS", "P6\tLake\t\t2016-03\tS", "P6\tLake\tBo\t2016-05-02\tS")
    (lake, sea) = read_successions(
        successions(
            tmp_path, *rows, "P6\tSea\tCy\t2024\tS", "P6\tSea\tDi\t2024-12-31\tS", "P6\tSea\tEd\t2025\tS"
        ),
        LAST,
    )
    assert (lake.chain, lake.subject, lake.subject_label, lake.popularity) == (
        "Lake-P6",
        "Lake",
        "Lake",
        None,
    )
    assert lake.names == {1: Name(None, "Ann"), 2: Name(None, "Bo")}
    assert lake.prompts[0] == "The head of government of Lake is"
    first, vacant, second = lake.timeline
    assert (first.certain and first.certain[1], first.possible) == (20160301, (EVER, 20160331))
    assert vacant == Tenure(UNNAMED, (20160331, 20160502), (20160301, 20160502))
    assert second == Tenure(2, (20160502, LAST), (20160502, NEVER_ENDS))
    # Who is known to begin within a year is certain from its end; who begins after the last day is left out.
    assert sea.timeline[0] == Tenure(1, (20241231, 20241231), (20240101, 20241231))
    assert [held.value for held in sea.timeline] == [1, 2]


def test_a_wrong_row_of_a_succession_is_refused_with_its_line(tmp_path):
    ann = "P6\tLake\tAnn\t\tS"
    for rows, message in (
        ([ann, "P6\tLake\tBo\t2016-13\tS"], "line 3: '2016-13' is no date"),
        ([ann, "P6\tLake\tBo\t\tS"], "line 3: '' is no date"),
        (["P6\tLake\tAnn\t2017\tS", "P6\tLake\tBo\t2016\tS"], "line 3: 2016 is not after"),
        (["P6\tLake\tAnn\t2017\tS", "P6\tLake\tBo\t2017\tS"], "line 3: 2017 is not after"),
        ([ann, "P6\tLake\tBo\t2016\t"], "line 3: no source"),
        (["P999999\tLake\tAnn\t\tS"], "line 2: P999999|no template for P999999"),
        ([ann, "P6\tSea\tBo\t\tS", "P6\tLake\tCy\t2016\tS"], "line 4: P6 of Lake occurs"),
    ):
        with pytest.raises(InputError, match=message):
            list(read_successions(successions(tmp_path, *rows), LAST))


def test_the_bundled_chains_are_enough_in_every_quarter_and_share_no_day_by_more_than_one():
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


def test_the_bundled_chains_have_the_written_successions():
    bundled = {row["chain"]: row for row in read_chains(CUTOFF_CHAINS)}
    made = 0
    for succession in read_successions(RESOURCES / "cutoff" / "successions.tsv", LAST):
        row = row_of(succession, FIRST, LAST)
        # One whose subject the stream has, too, is that of the stream.
        if not isinstance(row, Left) and (own := bundled.get(succession.chain)):
            made += 1
            assert list(own["prompts"]) == list(row["prompts"])
            assert own["holders"] == [{**holder, "aliases": []} for holder in row["holders"]]
    assert made > 500


@pytest.mark.parametrize("seed", [0, 7])
def test_the_questions_are_all_holders_after_own_and_neutral_prompts_and_letters_in_two_orders(seed):
    chains = read_chains(CUTOFF_CHAINS)[::5]
    many = {**chains[0], "chain": "many", "relation": "P0"}
    many["holders"] = [{**chains[0]["holders"][0], "label": f"N{number}"} for number in range(27)]
    asked = {row["chain"]: (row, own) for row, own in questions_of([*chains, many], seed)}
    assert [*asked] == [row["chain"] for row in [*chains, many]]
    prompts = {row["chain"]: set(row["prompts"]) for row in chains}
    relations = Counter(row["relation"] for row in chains if row["died"] is None)
    neutral = defaultdict(set)
    for chain, (row, own) in asked.items():
        labels = tuple(holder["label"] for holder in row["holders"])
        of = defaultdict(list)
        for question in own:
            of[question.role].append(question)
            assert question.unedited
            assert not question.exact
        assert len({question.id for question in own}) == len(own)
        assert [question.prompt for question in of["wording"]] == row["prompts"]
        today = [
            bool([each for each in holder["tenures"] if each["last"] is None]) for holder in row["holders"]
        ]
        assert {question.answer for question in of["wording"]} == {today.index(True) if any(today) else None}
        assert {question.targets for question in of["wording"] + of["neutral"]} == {labels}
        assert {question.ways for question in of["wording"] + of["neutral"]} == {("loglik",)}
        others = 0 if row["died"] else min(8, relations[row["relation"]] - 1)
        assert len(of["neutral"]) == others * (chain != "many")
        neutral[row["relation"]] |= {question.prompt for question in of["neutral"]}
        assert not {question.prompt for question in of["neutral"]} & prompts.get(chain, set())
        orders = [question.targets for question in of["letter"]]
        assert len(orders) == (0 if chain == "many" else 2)
        for first, second in [orders] if orders else []:
            assert sorted(first) == sorted(second) == sorted(labels)
            assert all(one != other for one, other in zip(first, second, strict=True))
        assert [question.ways for question in of["written"]] == ([] if row["died"] else [("written",)])
    # Most neutral prompts are those of all chains of a relation.
    assert all(len(found) <= 9 for found in neutral.values())
    (letter, _) = (question for question in asked[chains[0]["chain"]][1] if question.role == "letter")
    listed = "\n".join(f"{'ABCDEFGH'[number]}. {name}" for number, name in enumerate(letter.targets))
    assert filled(letter.form, letter).splitlines()[1:-1] == [f"{letter.prompt} ____", *listed.splitlines()]
    assert letter.form == FORM


def test_what_is_asked_in_writing_is_read_with_open_questions_only(tmp_path):
    for open_ in (False, True):
        benchmark = read(Tables([CUTOFF_CHAINS], seed=3, open_=open_))
        assert {question.role for question in benchmark.questions} == {
            *("wording", "neutral", "letter", *(["written"] if open_ else []))
        }
        assert (benchmark.name, benchmark.edits) == ("cutoff", ())


def test_a_date_of_death_has_other_dates_beside_it():
    chains = [row for row in read_chains(CUTOFF_CHAINS) if row["died"] is not None]
    asked = with_dates(chains, 7)
    assert asked == with_dates(chains, 7) != with_dates(chains, 8)
    for row in asked:
        labels = [holder["label"] for holder in row["holders"]]
        assert len(set(labels)) == 4
        year, month, day = row["died"] // 10_000, row["died"] // 100 % 100, row["died"] % 100
        assert labels[0] == f"{datetime.date(year, month, day):%B} {day}, {year}"
    assert with_dates(chains[:1], 7) == []
    assert [len(row["holders"]) for row in with_dates(chains[:3], 7)] == [3, 3, 3]


@pytest.mark.parametrize("number", [1, 40, 200, 1331, 5000, 0])
def test_some_chains_are_drawn_so_that_each_relation_and_the_deaths_have_their_share(number):
    chains = read_chains(CUTOFF_CHAINS)
    kinds = {row["chain"]: (row["relation"], row["died"] is not None) for row in chains}
    sets = [drawn(chains, number, seed) for seed in (1, 1, 2)]
    assert sets[0] == sets[1]
    assert (sets[0] != sets[2]) == (0 < number < 1332)
    living = [name for name in sets[0] if not kinds[name][1]]
    assert len(living) == (min(number, 1332) or 1332)
    share = len(living) / 1332
    whole, own = Counter(kinds.values()), Counter(kinds[name] for name in sets[0])
    assert all(abs(own[kind] - count * share) <= 1.5 for kind, count in whole.items())
    middle = sorted(row["popularity"] or 0 for row in chains if row["died"] is None)[666]
    high = sum((row["popularity"] or 0) > middle for row in chains if row["chain"] in living)
    assert number < 40 or abs(high / len(living) - 0.5) < 0.15
