"""Lists of updates for a terminal: order, conditions, what each line says, and hostile labels."""

import datetime
import io
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from factdrift.cli import main
from factdrift.core.errors import InputError
from factdrift.wikifactdiff.show import Wanted, default_dataset, find, list_lines, search


def value(label: str, decision: str, **dates: str) -> dict[str, str | None]:
    return {"label": label, "decision": decision, "start": None, "end": None, "point_in_time": None} | dates


def row(
    subject: str, number: int, relation: tuple[str, str], *objects: dict[str, str | None]
) -> dict[str, object]:
    names = {"subject": (f"Q{number}", subject), "relation": relation}
    called = {part: {"id": name, "label": label} for part, (name, label) in names.items()}
    return called | {"objects": list(objects), "scenario": "Other"}


GOVERNMENT, POPULATION = ("P6", "head of government"), ("P1082", "population")
ROWS = [
    row("France", 142, GOVERNMENT, value("Jean Castex", "obsolete"),
        value("Élisabeth Borne", "new", start="2022-05-16")),
    row("Germany", 183, GOVERNMENT, value("Olaf Scholz", "new", start="2021-12-08")),
    row("Wales", 25, POPULATION, value("3,107,500", "new", point_in_time="2021")),
    row("Rome\x1b[2J", 220, GOVERNMENT, *(value(f"C{k}", "obsolete", end="2020-01") for k in range(5))),
    row("Ur", 9, GOVERNMENT, value("X", "new", start="somevalue"), value("Y", "static", end="0001-01-01")),
]  # fmt: skip


@pytest.fixture
def dataset(tmp_path):
    path = tmp_path / "results" / "wikifactdiff.parquet"
    path.parent.mkdir()
    pq.write_table(pa.Table.from_pylist(ROWS), path)
    return path


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (Wanted(), ["Q142", "Q183", "Q25", "Q220", "Q9"]),
        (Wanted(search="elisabeth BORNE"), ["Q142"]),
        (Wanted(search="it's '; DROP"), []),
        (Wanted(relation="p1082"), ["Q25"]),
        (Wanted(relation="Head of"), ["Q142", "Q183", "Q220", "Q9"]),
        (Wanted(since=datetime.date(2021, 6, 1)), ["Q142", "Q183", "Q25"]),
        (Wanted(since=datetime.date(2020, 1, 31)), ["Q142", "Q183", "Q25", "Q220"]),
        (Wanted("scholz", "P6", datetime.date(2021, 12, 8)), ["Q183"]),
    ],
)
def test_conditions(dataset, wanted, expected):
    records, number = search(dataset, wanted, None)
    assert [record["subject"]["id"] for record in records] == expected
    assert number == len(expected)
    some, number = search(dataset, wanted, 1)
    assert (some, number) == (records[:1], len(expected))


def test_lines(dataset):
    found = list(list_lines(dataset, Wanted(), 4, io.StringIO()))
    assert found[0].endswith("wikifactdiff.parquet: 5 updates; the 4 most popular")
    assert found[1] == "Q142 P6        France, head of government: Jean Castex → Élisabeth Borne (2022-05-16)"
    assert found[3] == "Q25 P1082      Wales, population: + 3,107,500 (2021)"
    assert found[4] == "Q220 P6        Rome [2J, head of government: - C0, C1, C2 and 2 more (2020-01)"
    assert found[-1].endswith("--subject Q142 --relation P6")
    assert all(line.isprintable() for line in found)
    assert len(list(list_lines(dataset, Wanted(search="no such"), 4, io.StringIO()))) == 1


def test_an_update_is_dated_by_what_changed_and_a_label_of_a_megabyte_is_shortened(tmp_path):
    cases = {
        "- Council (2022-03-16)": [value("Council", "obsolete", start="1996-02-28", end="2022-03-16")],
        "- Council": [value("Council", "obsolete", start="1996-02-28")],
        "A → B (2022)": [value("A", "obsolete", start="1999", end="2022"), value("B", "new")],
        "A → C (2022)": [value("A", "obsolete", end="2021"), value("C", "new", start="2022", end="2030")],
        "+ A (2022-02)": [value("A", "new", point_in_time="2022-02"), value("B", "static", start="1990")],
    }
    given = [row("Russia", 159, GOVERNMENT, *objects) for objects in cases.values()]
    given.append(row("A", 1, GOVERNMENT, value("x" * 1_000_000, "new")))
    path = tmp_path / "a.parquet"
    pq.write_table(pa.Table.from_pylist(given), path)
    found = list(list_lines(path, Wanted(), None, io.StringIO()))
    assert [line.partition(": ")[2] for line in found[1:6]] == list(cases)
    assert max(map(len, found)) < 300


def test_the_command_finds_the_dataset(dataset, monkeypatch, capsys, refused):
    monkeypatch.chdir(dataset.parents[1])
    assert main(["show", "--search", "scholz", "--limit", "3"]) == 0
    said = capsys.readouterr().out
    assert "results/wikifactdiff.parquet: 1 updates, search scholz" in said
    assert "\x1b" not in said
    for name in ("2015-01-01_2019-06-01", "2021-01-04_2023-02-27"):
        (dataset.parent / name).mkdir()
    shutil.copy(dataset, dataset.parent / name)
    shutil.copy(dataset, dataset.parent / "2015-01-01_2019-06-01" / "wfd_repl.parquet")
    shutil.copy(dataset, dataset.parent / "wfd_repl.parquet")
    assert main(["show", "results/wikifactdiff.parquet", "--search", "scholz"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("results/wikifactdiff.parquet of 2021-01-04 to 2023-02-27: 1 updates")
    assert said[-1] == "Of another pair of dates, 2015-01-01 to 2019-06-01: results/wfd_repl.parquet"
    assert "leave out --search and --since" in refused("show", "--subject", "Q183", "--search", "x")
    assert "--limit: -1 is below 0" in refused("show", "--limit", "-1")
    dataset.unlink()
    (dataset.parent / "wfd_repl.parquet").unlink()
    with pytest.raises(InputError, match=r"wikifactdiff\.parquet: no such file; build it with"):
        default_dataset()


@pytest.mark.parametrize(
    "read",
    [lambda path: search(path, Wanted(search="x"), None), lambda path: find(path, "Q30", None, None)],
)
def test_a_file_that_is_no_dataset_is_named(tmp_path, read):
    path = tmp_path / "other.parquet"
    with pytest.raises(InputError, match=r"other\.parquet: no such file"):
        read(path)
    path.write_text("no table")
    with pytest.raises(InputError, match=r"other\.parquet: is no dataset"):
        read(path)
    pq.write_table(pa.table({"id": [1]}), path)
    with pytest.raises(InputError, match=r"other\.parquet: is no dataset"):
        read(path)
