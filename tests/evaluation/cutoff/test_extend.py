"""Chains that go on by hand: what is written is added, nothing before it changes, nothing else is claimed."""

import datetime
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from support.commands import refusal

from factdrift.cli import main
from factdrift.core.errors import InputError
from factdrift.core.files import sha256
from factdrift.core.paths import CUTOFF_CHAINS, RESOURCES
from factdrift.core.tables import rows_of
from factdrift.evaluation.questions.cutoff import SAMPLE_DATES, dates_of, holder_on, newest, read_chains
from factdrift.evaluation.questions.refresh import ENOUGH, write_extended
from factdrift.evaluation.questions.refreshed import Dates, extended
from factdrift.evaluation.questions.tenures import COLUMNS, changes, read_successions
from factdrift.evaluation.scores.cutoff import CutoffSettings, span_of, tables

Row = dict[str, Any]
CUTOFF_CHANGES = RESOURCES / "cutoff" / "changes.tsv"
LAST = datetime.date(2025, 12, 31)
DATES = Dates(20120101, 20241231, 20251231)


def days(first: int | None, last: int | None, share: float = 1.0) -> Row:
    return {"first": first, "last": last, "share": share}


def half(first: int, last: int | None = None) -> Row:
    return days(first, last or first, 0.5)


def chain(*holders: tuple[str, str | None, list[Row]]) -> Row:
    row = dict.fromkeys(("popularity", "died")) | {"prompts": ["The mayor of Lake is"], "relation": "P6"}
    row |= {"chain": "Q1-P6", "subject": "Q1", "subject_label": "Lake", "relation_label": "mayor"}
    named = [{"label": label, "id": own, "aliases": [], "tenures": of} for label, own, of in holders]
    return {**row, "holders": named}


ANN = [days(None, 20160501), half(20160502)]
LASTING = chain(("Ann", "Q7", ANN), ("Bo", "Q8", [half(20160502), days(20160503, None)]))
VACANT = chain(("Ann", "Q7", [days(None, 20160501)]), ("Bo", "Q8", [days(20160502, 20241129)]))

CASES = {
    "the day of the change is one of both": (
        LASTING,
        ["Bo ", "Cy 2025-03-14"],
        {
            "Bo": [half(20160502), days(20160503, 20250313), half(20250314)],
            "Cy": [half(20250314), days(20250315, None)],
        },
    ),
    "a vacancy is nobody's": (
        LASTING,
        ["Bo ", " 2025-02-10", "Cy 2025-03-14"],
        {
            "Bo": [half(20160502), days(20160503, 20250209), half(20250210)],
            "Cy": [half(20250314), days(20250315, None)],
        },
    ),
    "who returns is the holder that the chain has": (
        LASTING,
        ["Bo ", "Ann 2025-03-14", " 2025-05-01"],
        {"Ann": [*ANN, half(20250314), days(20250315, 20250430), half(20250501)]},
    ),
    "days of a month without proof of the holder count half for each": (
        LASTING,
        ["Bo ", "Cy 2025-03"],
        {
            "Bo": [half(20160502), days(20160503, 20250301), half(20250302, 20250330)],
            "Cy": [half(20250302, 20250330), days(20250331, None)],
        },
    ),
    "nobody holds at the end of the former chain": (
        VACANT,
        [" ", "Cy 2025-03-14"],
        {
            "Ann": [days(None, 20160501)],
            "Bo": [days(20160502, 20241129)],
            "Cy": [half(20250314), days(20250315, None)],
        },
    ),
}


def written(folder: Path, rows: list[str], subject: str = "Lake") -> Path:
    lines = ["\t".join(COLUMNS)]
    for row in rows:
        holder, _, start = row.rpartition(" ")
        lines.append(f"P6\t{subject}\t{holder}\t{start}\tby hand")
    (folder / "changes.tsv").write_text("\n".join([*lines, ""]), encoding="utf-8")
    return folder / "changes.tsv"


@pytest.mark.parametrize(("row", "rows", "expected"), CASES.values(), ids=CASES)
def test_holders_go_on_as_written(tmp_path, row, rows, expected):
    (own,) = read_successions(written(tmp_path, rows), DATES.last)
    made = extended(row, own, DATES)
    found = {holder["label"]: holder["tenures"] for holder in made["holders"]}
    assert {name: found[name] for name in expected} == expected
    ids = {"Ann": "Q7", "Bo": "Q8", "Cy": None}
    assert all(holder["id"] == ids[holder["label"]] for holder in made["holders"])


@pytest.mark.parametrize(
    ("row", "rows", "message"),
    [
        (LASTING, ["Ann ", "Cy 2025-03-14"], "has another holder than the chain"),
        (LASTING, [" ", "Cy 2025-03-14"], "has another holder than the chain"),
        (VACANT, ["Bo ", "Cy 2025-03-14"], "has another holder than the chain"),
        (LASTING, ["Bo ", "Cy 2024-12-31"], "lies in the time of the chain"),
        (LASTING, ["Bo ", "Lake 2025-03-14"], "a holder is named in the prompt"),
    ],
)
def test_rows_that_do_not_fit_the_chain_are_refused(tmp_path, row, rows, message):
    (own,) = read_successions(written(tmp_path, rows), DATES.last)
    with pytest.raises(InputError, match=message):
        extended(row, own, DATES)


@pytest.fixture(scope="module")
def extension(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("extended") / "by-hand.parquet"
    write_extended(CUTOFF_CHAINS, CUTOFF_CHANGES, LAST, path)
    return path


def test_nothing_before_2025_changes_and_nothing_but_the_written_rows_is_added(extension):
    hand = list(read_successions(CUTOFF_CHANGES, DATES.last))
    former = {(row["subject_label"], row["relation"]): row for row in read_chains(CUTOFF_CHAINS)}
    days = [datetime.date(2012, 1, 1) + datetime.timedelta(at) for at in (*range(0, 4749, 7), 4748)]
    assert days[-1] == SAMPLE_DATES[1]
    rows = read_chains(extension)
    assert len(rows) == len(hand) > 200
    for own, row in zip(hand, rows, strict=True):
        before = former[own.subject, own.relation]
        known = before["holders"]
        assert {**row, "holders": None} == {**before, "holders": None}
        same = [{**holder, "tenures": []} for holder in row["holders"][: len(known)]]
        assert same == [{**holder, "tenures": []} for holder in known]
        assert {holder["id"] for holder in row["holders"][len(known) :]} <= {None}
        for day in days:
            assert holder_on(row, day) == holder_on(before, day), (row["chain"], day)
        added = changes(row)[len(changes(before)) :]
        assert [row["holders"][change.after]["label"] for change in added] == [
            own.names[span.value].label for span in own.timeline[1:] if span.value
        ]
        assert all(20250101 <= change.day <= 20251231 for change in added)


def test_every_row_is_marked_and_the_page_says_how_many_changes_each_quarter_has(extension):
    sources = Counter(fields[4].partition(",")[0] for _, fields in rows_of(CUTOFF_CHANGES, COLUMNS))
    assert sources.keys() == {"the bundled chain", "by hand"}
    counts = Counter(
        (change.day // 100 % 100 + 2) // 3
        for row in read_chains(extension)
        if row["died"] is None
        for change in changes(row)
        if change.day > 20241231
    )
    assert min(counts.values()) >= ENOUGH
    page = (Path(__file__).parents[3] / "docs" / "cutoff.md").read_text(encoding="utf-8")
    said = ", ".join(str(counts[quarter]) for quarter in (1, 2, 3))
    assert f"{said} and {counts[4]} changes of the quarters of 2025" in " ".join(page.split())


def test_only_who_asks_for_it_is_asked_about_changes_by_hand(extension, tmp_path, monkeypatch, capsys):
    assert dates_of(extension) == (SAMPLE_DATES[0], datetime.date(2025, 12, 31))
    monkeypatch.chdir(tmp_path)
    mine = Path("chains-by-hand.json")
    mine.write_text("mine", encoding="utf-8")  # nothing is written that the command line does not name
    line = ["cutoff", "refresh", f"--changes={CUTOFF_CHANGES}", "--until=2025-12-31"]
    assert main([*line, "-o=chains-by-hand.parquet"]) == 0
    assert mine.read_text(encoding="utf-8") == "mine"
    assert "240 chains: chains-by-hand.parquet" in capsys.readouterr().out
    assert Path("chains-by-hand.parquet").read_bytes() == extension.read_bytes()
    assert newest() == CUTOFF_CHAINS
    manifest = write_extended(CUTOFF_CHAINS, CUTOFF_CHANGES, LAST, Path("again.parquet"))
    assert manifest["by_hand"] == {"file": "changes.tsv", "sha256": sha256(CUTOFF_CHANGES)}
    assert manifest["former"]["sha256"] == sha256(CUTOFF_CHAINS)
    assert "name the last day of the changes (--until), and --output" in refusal(*line)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_a_model_of_a_day_in_2025_has_its_date(extension, seed):
    rows, rng = read_chains(extension), random.Random(seed)
    day = datetime.date(2025, 1, 20) + datetime.timedelta(rng.randrange(330))
    answers = []
    for row in rows:
        holder = holder_on(row, day)
        chosen = rng.randrange(len(row["holders"])) if holder is None or rng.random() < 0.3 else holder
        bare = dict.fromkeys(("scores", "neutral", "wordings", "likely", "calibrated", "reason"))
        answers.append({**bare, **row, "model": "m", "way": "letter", "choice": chosen})
    dates, _ = tables(answers, CutoffSettings(span_of(dates_of(extension)), 0, draws=200, permutations=99))
    assert dates[0]["verdict"] == "date"
    assert dates[0]["low"] <= str(day) <= (dates[0]["high"] or "9999")


@pytest.mark.parametrize(
    ("subject", "message"),
    [("Atlantis", "0 chains are about Atlantis-P6"), ("Georgia", "2 chains are about Georgia-P6")],
)
def test_rows_about_no_chain_or_two_are_refused(tmp_path, subject, message):
    table = written(tmp_path, ["Bo ", "Cy 2025-03-14"], subject)
    line = ["cutoff", "refresh", f"--changes={table}", "--until=2025-12-31"]
    assert message in refusal(*line, f"-o={tmp_path / 'made.parquet'}")
    assert not [*tmp_path.glob("*.parquet")]
