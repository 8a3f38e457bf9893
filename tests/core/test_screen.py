"""Colours are for terminals."""

import io

import pytest

from factdrift.core.screen import is_terminal, styled


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_only_a_terminal_gets_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert styled("text", "bold", Terminal()) == "\x1b[1mtext\x1b[0m"
    assert styled("text", "bold", io.StringIO()) == "text"
    monkeypatch.setenv("TERM", "dumb")
    assert styled("text", "bold", Terminal()) == "text"
    assert not is_terminal(Terminal())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    assert styled("text", "bold", Terminal()) == "text"
    assert is_terminal(Terminal())
