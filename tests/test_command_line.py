"""The command line: what it says to a word that it does not know, its help, and what its start costs."""

import subprocess
import sys

import pytest

import factdrift
from factdrift.cli import COMMANDS, PEOPLE, job_of, main, overview, parser

HEAVY = {
    *("babel", "duckdb", "jinja2", "jsonschema", "numpy", "pandas", "pyarrow", "requests"),
    *("scipy", "sklearn", "torch", "transformers"),
}


def ended(*words: str) -> int | str | None:
    """The status with which the command line ends by itself."""
    with pytest.raises(SystemExit) as caught:
        main(list(words))
    return caught.value.code


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["shwo"], 2, "factdrift: there is no command shwo; did you mean show?"),
        (["updates", "classfy"], 2, "factdrift updates: there is no verb classfy; did you mean classify?"),
        (["klob", "qqqq"], 2, "factdrift klob: there is no verb qqqq; there are "),
        (["--version"], 0, f"factdrift {factdrift.__version__}\n"),
    ],
)
def test_an_unknown_word_is_answered_with_the_most_similar_one(
    words: list[str], status: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended(*words) == status
    assert said in "".join(capsys.readouterr())


def test_help_has_what_people_use_first(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert ended("--help") == 0
    said = capsys.readouterr().out
    assert max(map(len, said.splitlines())) <= 68, "commands are not broken"
    people, _, workflow = said.partition("Commands of the workflow")
    assert "For example:" in people
    for name in (each for each in COMMANDS if " " not in each):
        assert f"\n  {name} " in said, name
    for name in (each for names in PEOPLE.values() for each in names):
        assert job_of(name)
        assert f"  {name} " in people
        assert f"\n  {name} " not in workflow


def test_the_command_line_imports_nothing_that_takes_long() -> None:
    program = "import sys, factdrift.cli; factdrift.cli.parser(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "factdrift.evaluation.tools.jobs" in loaded
    assert not loaded & HEAVY


def test_the_list_of_commands_is_the_help_of_all_of_them() -> None:
    assert overview().format_help() == parser().format_help() == parser("no command").format_help()
