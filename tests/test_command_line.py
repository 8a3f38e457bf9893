"""What the command line says to words that it does not know."""

import pytest

import factdrift
from factdrift.cli import COMMANDS, PEOPLE, job_of, main


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["shwo"], "factdrift: there is no command shwo; did you mean show?"),
        (["updates", "classfy"], "factdrift updates: there is no verb classfy; did you mean classify?"),
        (["klob", "qqqq"], "factdrift klob: there is no verb qqqq; there are "),
    ],
)
def test_an_unknown_word_is_answered_with_the_most_similar_one(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_help_has_what_people_use_first(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    said = capsys.readouterr().out
    assert ended.value.code == 0
    assert max(map(len, said.splitlines())) <= 68, "commands are not broken"
    people, _, workflow = said.partition("Commands of the workflow")
    assert "For example:" in people
    for name in (each for each in COMMANDS if " " not in each):
        assert f"\n  {name} " in said, name
    for name in (each for names in PEOPLE.values() for each in names):
        assert job_of(name)
        assert f"  {name} " in people
        assert f"\n  {name} " not in workflow


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"factdrift {factdrift.__version__}\n"
