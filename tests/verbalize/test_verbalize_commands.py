"""The command line of the stage."""

from pathlib import Path

from factdrift.cli import main

BUNDLED = str(Path(__file__).parents[2] / "resources" / "templates" / "templates.tsv")


def run(*arguments: str | Path) -> int:
    return main(["verbalize", *map(str, arguments)])


def test_show_prints_the_sentences(capsys):
    run("show", "P6", "--subject", "France", "--object", "Élisabeth Borne", "--templates", BUNDLED)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "P6 head of government (bundled)"
    assert lines[1] == "1. The head of government of France is Élisabeth Borne."
    assert len(lines) == 6


def test_show_of_a_relation_without_templates(capsys):
    names = ("--subject", "Earth", "--object", "the Moon", "--templates", BUNDLED)
    run("show", "P99999", *names, "--relation", "natural satellite")
    assert "1. The natural satellite of Earth is the Moon." in capsys.readouterr().out
    for relation, complaint in (("P99999", "--relation"), ("capital", "capital")):
        assert run("show", relation, *names) == 1
        assert complaint in capsys.readouterr().err
