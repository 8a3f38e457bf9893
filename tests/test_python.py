"""The functions of the package: their examples on the built sample, and what they refuse."""

import doctest
from pathlib import Path

import pytest

import factdrift
from factdrift.core.errors import InputError


@pytest.fixture
def there(built: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(built)
    monkeypatch.setenv("XDG_CACHE_HOME", str(built / "cache"))
    return built


@pytest.mark.parametrize("name", ["load", "changes", "timeline", "scores", "show"])
def test_examples_give_what_they_say(there: Path, name: str) -> None:
    function = getattr(factdrift, name)
    found = doctest.DocTestFinder().find(function, name, globs={**vars(factdrift)})
    assert found[0].examples, "an example each"
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    assert runner.run(found[0]).failed == 0


def test_all_names_are_there() -> None:
    assert set(factdrift.__all__) == {"__version__", "load", "changes", "timeline", "scores", "show"}
    assert all(getattr(factdrift, name) for name in factdrift.__all__)
    with pytest.raises(AttributeError, match="it has __version__, changes"):
        factdrift.annotation  # noqa: B018


def test_what_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.json").write_text("{}")
    (tmp_path / "b.parquet").write_bytes(b"")
    with pytest.raises(InputError, match=r"a folder; name one of its tables: b\.parquet"):
        factdrift.load(tmp_path)
    with pytest.raises(InputError, match=r"a\.json: is no Parquet table; read JSON with"):
        factdrift.load("a.json")
    with pytest.raises(FileNotFoundError):
        factdrift.load("gone.parquet")
    with pytest.raises(InputError, match=r"edit_scores\.parquet: no such file; build it"):
        factdrift.scores()
    with pytest.raises(InputError, match=r"no such file; build it"):
        factdrift.changes()
    with pytest.raises(InputError, match=r"no such file; build it"):
        factdrift.timeline("Q1", "P1")


def test_other_updates(there: Path) -> None:
    whole = factdrift.changes()
    assert len(whole) == 1368
    found = factdrift.changes(search="scholz")
    assert found["subject"].tolist() == ["Germany", *found["subject"].tolist()[1:]]
    assert factdrift.timeline("Q183", "P570").empty
