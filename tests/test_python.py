"""The functions of the package: their examples on the built sample, and what they refuse."""

import doctest
import re
from pathlib import Path

import pytest

import factdrift
from factdrift.core.errors import InputError


@pytest.fixture
def _there(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(built)
    monkeypatch.setenv("XDG_CACHE_HOME", str(built / "cache"))


@pytest.mark.usefixtures("_there")
@pytest.mark.parametrize("name", sorted(set(factdrift.__all__) - {"__version__"}))
def test_examples_give_what_they_say(name: str) -> None:
    function = getattr(factdrift, name)
    found = doctest.DocTestFinder().find(function, name, globs={**vars(factdrift)})
    assert found[0].examples, "an example each"
    assert doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(found[0]).failed == 0


def test_what_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AttributeError, match="it has __version__, changes"):
        factdrift.annotation  # noqa: B018
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.json").write_text("{}")
    (tmp_path / "b.parquet").write_bytes(b"")
    assert dir(factdrift) == sorted(factdrift.__all__)
    for ask, said in (
        (lambda: factdrift.load(tmp_path), "a folder; name one of its tables: b.parquet"),
        (lambda: factdrift.load("gone.parquet"), "gone.parquet: no such file"),
        (lambda: factdrift.changes("gone.parquet"), "gone.parquet: no such file"),
        (lambda: factdrift.show("Q1", dataset="gone.parquet"), "gone.parquet: no such file"),
        (lambda: factdrift.load("a.json"), "a.json: is no Parquet table; read JSON with"),
        (factdrift.scores, "edit_scores.parquet: no such file; build it"),
        (factdrift.changes, "no such file; build it"),
        (lambda: factdrift.timeline("Q1", "P1"), "no such file; build it"),
    ):
        with pytest.raises(InputError, match=re.escape(said)):
            ask()
