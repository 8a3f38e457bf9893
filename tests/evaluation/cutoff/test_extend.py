"""Chains that go on by hand: what is written is added, nothing before it changes, nothing else is claimed."""

import datetime
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from factdrift.cli import main
from factdrift.core.errors import InputError
from factdrift.core.paths import CUTOFF_CHAINS, CUTOFF_CHANGES
from factdrift.core.tables import rows_of
from factdrift.evaluation.questions.cutoff import (
    SAMPLE_DATES,
    dates_of,
    holder_on,
    newest,
    read_chains,
)
from factdrift.evaluation.questions.refresh import ENOUGH
from factdrift.evaluation.questions.refreshed import Dates, extended
from factdrift.evaluation.questions.successions import COLUMNS, read_successions
from factdrift.evaluation.questions.tenures import changes
from factdrift.evaluation.scores.cutoff import CutoffSettings, span_of, tables
from factdrift.evaluation.states.stated import today

Row = dict[str, Any]
DATES = Dates(20120101, 20241231, 20251231)


def days(first: int | None, last: int | None, share: float = 1.0) -> Row:
    return {"first": first, "last": last, "share": share}


def chain(*holders: tuple[str, str | None, list[Row]]) -> Row:
    row = dict.fromkeys(("popularity", "died")) | {"prompts": ["The mayor of Lake is"], "relation": "P6"}
    row |= {"chain": "Q1-P6", "subject": "Q1", "subject_label": "Lake", "relation_label": "mayor"}
    named = [{"label": label, "id": own, "aliases": [], "tenures": of} for label, own, of in holders]
    return {**row, "holders": named}


LASTING = chain(
    ("Ann", "Q7", [days(None, 20160501), days(20160502, 20160502, 0.5)]),
    ("Bo", "Q8", [days(20160502, 20160502, 0.5), days(20160503, None)]),
)
VACANT = chain(("Ann", "Q7", [days(None, 20160501)]), ("Bo", "Q8", [days(20160502, 20241129)]))

CASES: list[tuple[str, Row, list[str], dict[str, list[Row]]]] = [
    (
        "the day of the change is one of both",
        LASTING,
        ["Bo ", "Cy 2025-03-14"],
        {
            "Bo": [days(20160502, 20160502, 0.5), days(20160503, 20250313), days(20250314, 20250314, 0.5)],
            "Cy": [days(20250314, 20250314, 0.5), days(20250315, None)],
        },
    ),
    (
        "a vacancy is nobody's",
        LASTING,
        ["Bo ", " 2025-02-10", "Cy 2025-03-14"],
        {
            "Bo": [days(20160502, 20160502, 0.5), days(20160503, 20250209), days(20250210, 20250210, 0.5)],
            "Cy": [days(20250314, 20250314, 0.5), days(20250315, None)],
        },
    ),
    (
        "who returns is the holder that the chain has",
        LASTING,
        ["Bo ", "Ann 2025-03-14", " 2025-05-01"],
        {
            "Ann": [
                *(days(None, 20160501), days(20160502, 20160502, 0.5)),
                *(days(20250314, 20250314, 0.5), days(20250315, 20250430), days(20250501, 20250501, 0.5)),
            ],
        },
    ),
    (
        "days of a month without proof of the holder count half for each",
        LASTING,
        ["Bo ", "Cy 2025-03"],
        {
            "Bo": [days(20160502, 20160502, 0.5), days(20160503, 20250301), days(20250302, 20250330, 0.5)],
            "Cy": [days(20250302, 20250330, 0.5), days(20250331, None)],
        },
    ),
    (
        "nobody holds at the end of the former chain",
        VACANT,
        [" ", "Cy 2025-03-14"],
        {
            "Ann": [days(None, 20160501)],
            "Bo": [days(20160502, 20241129)],
            "Cy": [days(20250314, 20250314, 0.5), days(20250315, None)],
        },
    ),
]


def written(folder: Path, rows: list[str], subject: str = "Lake") -> Path:
    lines = ["\t".join(COLUMNS)]
    for row in rows:
        holder, _, start = row.rpartition(" ")
        lines.append(f"P6\t{subject}\t{holder}\t{start}\tby hand")
    (folder / "changes.tsv").write_text("\n".join([*lines, ""]), encoding="utf-8")
    return folder / "changes.tsv"


@pytest.mark.parametrize(
    ("row", "rows", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_holders_go_on_as_written(
    tmp_path: Path, row: Row, rows: list[str], expected: dict[str, list[Row]]
) -> None:
    (own,) = read_successions(written(tmp_path, rows), DATES.last)
    made = extended(row, own, DATES)
    found = {holder["label"]: holder["tenures"] for holder in made["holders"]}
    assert {name: found[name] for name in expected} == expected
    ids = {"Ann": "Q7", "Bo": "Q8", "Cy": None}
    assert {holder["label"]: holder["id"] for holder in made["holders"]} == {
        name: ids[name] for name in found
    }


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
def test_rows_that_do_not_fit_the_chain_are_refused(
    tmp_path: Path, row: Row, rows: list[str], message: str
) -> None:
    (own,) = read_successions(written(tmp_path, rows), DATES.last)
    with pytest.raises(InputError, match=message):
        extended(row, own, DATES)


@pytest.fixture(scope="module")
def extension(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("extended")
    assert main(["cutoff", "extend", f"--folder={folder}"]) == 0
    return folder / "chains-2025-12-31-by-hand.parquet"


def test_nothing_before_2025_changes_and_nothing_but_the_written_rows_is_added(extension: Path) -> None:
    hand = {(own.subject, own.relation): own for own in read_successions(CUTOFF_CHANGES, DATES.last)}
    former, now = read_chains(CUTOFF_CHAINS), read_chains(extension)
    assert [row["chain"] for row in now] == [row["chain"] for row in former]
    ends = [datetime.date(2012, 1, 1) + datetime.timedelta(at) for at in range(0, 4749, 7)]
    new = 0
    for before, row in zip(former, now, strict=True):
        own = hand.pop((row["subject_label"], row["relation"]), None)
        if own is None:
            assert row == before
            continue
        known = before["holders"]
        same = [{**holder, "tenures": []} for holder in row["holders"][: len(known)]]
        assert same == [{**holder, "tenures": []} for holder in known]
        assert {holder["id"] for holder in row["holders"][len(known) :]} <= {None}
        for day in (*ends, SAMPLE_DATES[1]):
            assert holder_on(row, day) == holder_on(before, day), (row["chain"], day)
        later = [holder for holder, *_ in own.timeline[1:] if holder]
        added = changes(row)[len(changes(before)) :]
        assert [row["holders"][change.after]["label"] for change in added] == [
            own.names[holder].label for holder in later
        ]
        assert all(20250101 <= change.day <= 20251231 for change in added)
        new += len(added)
    assert not hand
    assert new > 240


def test_every_row_is_marked_and_the_page_says_how_many_changes_each_quarter_has(extension: Path) -> None:
    sources = Counter(fields[4].partition(";")[0] for _, fields in rows_of(CUTOFF_CHANGES, COLUMNS))
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


def test_the_days_behind_the_proved_ones_are_claimed_for_no_other_chain(extension: Path) -> None:
    dates = dates_of(extension)
    assert dates == (*SAMPLE_DATES, datetime.date(2025, 12, 31))
    rows = [row for row in read_chains(extension) if row["died"] is None][:40]
    stated = today(rows, datetime.date(2024, 12, 30), dates)
    behind = {state for state, day in stated.days.items() if day > SAMPLE_DATES[1]}
    assert {item.holder for item in stated.items if item.state in behind} == {None}
    assert {item.holder for item in stated.items if item.state not in behind} != {None}


def test_deaths_go_on_by_no_hand_and_have_dates_up_to_the_bundled_end_only(extension: Path) -> None:
    rows = [row for row in read_chains(extension) if row["died"] is not None]
    answers = [
        {**row, "model": "m", "way": "letter", "choice": int(row["died"] > 20220101), "reason": None}
        | {"holders": [*row["holders"]] * 4}
        for row in rows
    ]
    dates = dates_of(extension)
    settings = CutoffSettings(span_of(dates), 0, draws=20, permutations=99, proved=span_of(dates[:2]))
    (only,), _ = tables(answers, settings)
    assert (only["subset"], only["verdict"], only["last_date"]) == ("deaths", "date", "2024-12-31")
    assert abs((datetime.date.fromisoformat(only["date"]) - datetime.date(2022, 1, 1)).days) < 60


def test_extended_chains_are_asked_about_from_then_on_and_are_not_refreshed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["cutoff", "extend"]) == 0
    assert "chains go on by hand: results/fetched/cutoff/chains-2025-12-31-by-hand.parquet" in (
        capsys.readouterr().out
    )
    path = newest()
    assert path.name == "chains-2025-12-31-by-hand.parquet"
    again = tmp_path / "again"
    assert main(["cutoff", "extend", f"--folder={again}"]) == 0
    assert (again / path.name).read_bytes() == path.read_bytes()
    refresh = ["cutoff", "refresh", "--contact=tests@example.org", f"--chains={path}", "--until=2026-01-31"]
    assert main(refresh) == 1
    assert "it has changes by hand" in capsys.readouterr().err
    (path.parent / "chains-2025-12-31.parquet").write_bytes(b"")
    assert newest().name == "chains-2025-12-31.parquet"


@pytest.mark.parametrize(
    ("subject", "message"),
    [("Atlantis", "0 chains are about P6 of Atlantis"), ("Georgia", "2 chains are about P6 of Georgia")],
)
def test_rows_about_no_chain_or_two_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], subject: str, message: str
) -> None:
    table = written(tmp_path, ["Bo ", "Cy 2025-03-14"], subject)
    assert main(["cutoff", "extend", f"--changes={table}", f"--folder={tmp_path}"]) == 1
    assert message in capsys.readouterr().err
    assert not [*tmp_path.glob("*.parquet")]


def test_the_file_names_its_dates(extension: Path) -> None:
    assert pq.read_schema(extension).metadata[b"factdrift.dates"] == b"2012-01-01 2024-12-31 2025-12-31"
