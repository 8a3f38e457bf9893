"""Fingerprints of code: what changes them, what does not, and that every rule passes its commands' own."""

import ast
import re
import shutil
from pathlib import Path

import pytest
from support.workflow import ROOT, rules_of

from factdrift.cli import parser
from factdrift.core import fingerprint, paths
from factdrift.core.jobs import JOBS

WITHOUT = {"snapshots download", "publish file", "release"}
"""Commands whose outputs another version of the code would not change, or that would fetch 100 GB again."""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A copy of the package's modules, from which fingerprints are taken until the test ends."""
    copy = tmp_path / "factdrift"
    shutil.copytree(paths.PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__", "resources", "config"))
    monkeypatch.setattr(fingerprint, "PACKAGE", copy)
    forget()
    yield copy
    forget()


def forget() -> None:
    """Forgets all that depends on where the package is; texts that have been parsed are not parsed again."""
    for cached in (
        *(fingerprint._files, fingerprint.closure, fingerprint._pieces, fingerprint._imported),
        *(fingerprint._module, fingerprint._statements, fingerprint._digest),
    ):
        cached.cache_clear()


def commands() -> list[str]:
    parser()  # which imports all records
    return sorted(command for command, job in JOBS.items() if job.__module__.startswith("factdrift."))


def fingerprints() -> dict[str, str]:
    forget()
    return {command: fingerprint.of_jobs(JOBS[command]) for command in commands()}


@pytest.fixture(scope="module")
def before() -> dict[str, str]:
    """Of the package as it is."""
    return fingerprints()


def replaced(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_comments_docstrings_layout_and_help_count_nowhere(before: dict[str, str], package: Path):
    for path in (path for room in ("core", "statements", "words") for path in (package / room).glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module) and ast.get_docstring(node):
                node.body[0] = ast.Expr(ast.Constant("Another docstring."))
            if isinstance(node, ast.Subscript) and getattr(node.value, "id", "") == "Annotated":
                assert isinstance(node.slice, ast.Tuple)
                helped = [isinstance(part, ast.Constant) for part in node.slice.elts]
                if any(helped):
                    node.slice.elts[helped.index(True)] = ast.Constant("another help text")
        path.write_text("# A comment.\n" + ast.unparse(ast.fix_missing_locations(tree)), encoding="utf-8")
    assert fingerprints() == before


def test_a_change_counts_where_the_module_is_imported_and_only_there(before: dict[str, str], package: Path):
    name = "factdrift.words.dates"
    covering = {command for command in commands() if name in fingerprint.modules_of(JOBS[command])}
    replaced(package / "words/dates.py", "return ", "return 0 and ")
    after = fingerprints()
    assert {command for command in before if before[command] != after[command]} == covering
    assert {"verbalize literals", "tempripple facts"} <= covering
    assert not {"statements extract", "updates classify", "models train", "neighbors search"} & covering


def test_a_change_within_a_command_module_counts_for_its_command_only(before: dict[str, str], package: Path):
    replaced(package / "statements/jobs.py", "self.bucket, *files", "self.bucket + 0, *files")
    after = fingerprints()
    assert {command for command in before if before[command] != after[command]} == {"statements gather"}


def test_a_module_covers_what_its_functions_import(package: Path):
    assert "factdrift.core.tables" in fingerprint.closure("factdrift.statements.gather")
    before = fingerprint.of_module("factdrift.evaluation.run")
    forget()
    replaced(package / "models/scoring.py", "return ", "return 0 and ")
    assert fingerprint.of_module("factdrift.evaluation.run") != before


def test_imports_for_type_checkers_do_not_count(package: Path):
    text = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from factdrift import two\n"
    (package / "one.py").write_text(text)
    (package / "two.py").write_text("from factdrift.words import dates\n")
    assert fingerprint.closure("factdrift.one") == {"factdrift.one"}
    assert "factdrift.words.dates" in fingerprint.closure("factdrift.two")


def test_only_downloads_and_copies_have_no_fingerprint_of_their_commands():
    known, rules = set(commands()), 0
    for path in sorted((ROOT / "rules").glob("*.smk")):
        for name, text in rules_of(path.read_text(encoding="utf-8")).items():
            listed = "".join(re.findall(r"\bjob\(([^)]*)\)", text))
            run = set(re.findall(r'"([^"]+)"', re.sub(r'\w+=f?"[^"]*"', "", listed)))
            assert run <= known, name
            assert ("code=None" in text) == bool(run & WITHOUT), name
            # The metadata of temporary files is gone with them: their readers pass the writer's, too.
            assert 'after="statements extract"' in text or "shard_dirs=" not in text, name
            rules += bool(run)
    assert rules > 50
