"""Colours are for terminals."""

import io

import pytest

from factdrift.core.screen import is_terminal, styled


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "variables", "expected"),
    [
        (Terminal(), {"TERM": "xterm"}, "\x1b[1mtext\x1b[0m"),
        (Terminal(), {"TERM": "dumb"}, "text"),
        (Terminal(), {"TERM": "xterm", "NO_COLOR": "1"}, "text"),
        (io.StringIO(), {"TERM": "xterm"}, "text"),
    ],
    ids=["terminal", "dumb", "no colour", "file"],
)
def test_only_a_terminal_gets_colours(
    monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, variables: dict[str, str], expected: str
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert styled("text", "bold", stream) == expected
    assert is_terminal(stream) == (isinstance(stream, Terminal) and variables["TERM"] != "dumb")
