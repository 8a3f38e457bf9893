"""Small changes of logic: which are drawn, and that the tests that see one are found."""

import os
from pathlib import Path

import mutants
import pytest
from changes import can_be_compiled, changes_of
from mutants_tests import PACKAGE, WarmTests
from support.workflow import ROOT

PLAIN = '''
"""1 < 2 in a docstring."""
def decide(a: int, rows: "list[int]", default=6) -> bool:
    if a < 3 and rows:
        raise ValueError(f"{a} < 3", 1 < 2)
    progress.advance(a - 1)
    for row in tracked(sorted(rows), "rows", 5):
        if not done(row, default):
            return min(rows) - 9 if rows[0] >= default else table.get(rows, 0)
    return db.sql(f"SELECT a FROM t WHERE a <= {a} AND b IS NULL ORDER BY a, b")
QUERY = """SELECT coalesce(c, d) FROM t WHERE c > 2 ORDER BY d DESC, e"""
'''


def test_operators_and_sql_are_changed_but_no_messages_types_or_progress() -> None:
    changes = changes_of(PLAIN)
    assert {(change.old, change.new) for change in changes} == {
        *(("a < 3 and ", ""), (" and rows", ""), ("a < 3 and rows", "not (a < 3 and rows)"), ("and", "or")),
        *(("<", "<="), ("3", "4"), ("6", "7"), ("9", "10"), ("0", "1"), (", 0", ""), ("-", "+"), (">=", ">")),
        *(("not ", ""), ("not done(row, default)", "not (not done(row, default))"), ("sorted", "list")),
        *(("row, default", "default, row"), ("min", "max")),
        ("rows[0] >= default", "not (rows[0] >= default)"),
        *(("<=", "<"), (" AND b IS NULL", ""), ("AND", "OR"), ("IS NULL", "IS NOT NULL")),
        *(("a", "a DESC"), ("a, ", ""), ("ORDER BY a, b", "ORDER BY a")),
        *(("coalesce(c, d)", "c"), (">", ">="), ("2", "3"), (" DESC", ""), ("d", "d DESC")),
        *(("d DESC, ", ""), ("ORDER BY d DESC, e", "ORDER BY d DESC")),
    }
    assert {change.function for change in changes} == {0, 3}
    for change in changes:
        changed = change.applied(PLAIN.encode())
        assert can_be_compiled(changed)
        assert change.text[0] in PLAIN
        assert change.text[1] in changed.decode()


def test_changes_without_effect_that_do_not_fit_the_code_are_named(tmp_path: Path) -> None:
    table = tmp_path / "mutants.tsv"
    table.write_text("module\tbefore\tafter\treason\nripples/jobs.py\tgone\tnew\twhy\n", "utf-8")
    with pytest.raises(SystemExit, match=r"line 2: 'gone' is no line of ripples/jobs\.py; remove the row"):
        mutants.read_equivalent(table)


def test_changes_are_drawn_in_turns_from_the_rooms_by_the_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    few = {name: mutants.ROOMS[name] for name in ("neighbors", "streams")}
    monkeypatch.setattr(mutants, "ROOMS", few)
    chosen = mutants.drawn(1, 6)
    assert [mutant.room for mutant in chosen] == ["neighbors", "streams"] * 3
    assert chosen == mutants.drawn(1, 9)[:6]
    assert chosen != mutants.drawn(2, 6)


def test_every_equivalent_is_a_change() -> None:
    equivalent = mutants.read_equivalent(mutants.EQUIVALENT)
    for module in {module for module, *_ in equivalent}:
        text = (ROOT / PACKAGE / module).read_text(encoding="utf-8")
        known = {change.text for change in changes_of(text)}
        assert {(before, after) for name, before, after in equivalent if name == module} <= known


TESTED = """
import time
import pytest
from factdrift.small import double, least

@pytest.fixture(scope="module")
def four():
    return double(2)

def test_least():
    assert least(1, 2) == 1

def test_double(four):
    assert four == 4

def test_endless():
    while double(1) != 2:
        time.sleep(0.1)
"""
SMALL = "def double(a):\n    return a + a\n\n\ndef least(a, b):\n    return min(a, b)\n"


@pytest.mark.slow
def test_the_tests_that_enter_a_function_are_found_and_those_that_fail_named(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    module = copy / PACKAGE / "small.py"
    for path, text in {
        module: SMALL,
        copy / PACKAGE / "__init__.py": "",
        copy / "tests/test_small.py": TESTED,
        copy / "pytest.ini": "[pytest]\nmarkers = slow\naddopts = --import-mode=importlib\n",
    }.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    with WarmTests(copy) as tests:
        found = {test.name.partition("::")[2]: test for test in tests.survey(["tests"], 60)[0]}
        entered = {name: [line for _, line in sorted(test.entered)] for name, test in found.items()}
        assert entered == {"test_least": [5], "test_double": [1], "test_endless": [1]}
        assert not any(test.is_unseen for test in found.values())
        names = [test.name for test in found.values()]
        assert tests.failed(names, 60) == []
        module.write_text(SMALL.replace("min", "max"), encoding="utf-8")
        os.utime(module, (0, 0))
        assert tests.failed(names[::-1], 60) == ["tests/test_small.py::test_least"]
        module.write_text(SMALL.replace("a + a", "a * 5"), encoding="utf-8")
        assert tests.failed(["tests/test_small.py::test_double"], 60) == ["tests/test_small.py::test_double"]
        assert tests.failed(["tests/test_small.py::test_endless"], 2) is None
        with pytest.raises(SystemExit, match="fails without any change"):
            tests.survey(["tests"], 2)
