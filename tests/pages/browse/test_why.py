"""Why a fact is in the dataset or not, in words, for the sample: by id or name, whether it changed or not."""

from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from factdrift.cli import main

Said = Callable[..., tuple[int, str]]

PAIR = "results/2021-01-04_2023-02-27"


@pytest.fixture
def said(
    built: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Said:
    """`said(words...)` is what `factdrift why` prints, and its status."""
    monkeypatch.chdir(built)
    monkeypatch.setenv("XDG_CACHE_HOME", str(built / "cache"))
    monkeypatch.setenv("COLUMNS", "100")

    def run(*words: str) -> tuple[int, str]:
        capsys.readouterr()
        status = main(["why", *words, "--pair", PAIR])
        printed = capsys.readouterr()
        return status, printed.out + printed.err

    return run


@pytest.mark.parametrize(
    ("subject", "relation", "sentences"),
    [
        (
            *("Germany", "head of government"),
            (
                "An update of wikifactdiff: ReplaceObject.",
                "In wfd_repl.",
                "2023-02-27: normal rank, from 2005-11-22, to 2021-12-08",
                "rule replaced: the only value of a functional relation",
                "filter preferred drops it",
            ),
        ),
        (*("Q159", "P463"), ("wikifactdiff: Archive", "Not in wfd_repl", "rule ended_inside")),
        (*("germany", "Capital"), ("No update: all that is left of the group is static", "still_holds")),
        (*("Q183", "P463"), ("No update: a triple of the group is unknown (undecided)",)),
        (*("Q183", "P570"), ("Neither dump has a statement of this relation about this subject",)),
    ],
)
def test_the_decision_is_told(said: Said, subject: str, relation: str, sentences: tuple[str, ...]) -> None:
    status, text = said(subject, relation)
    assert status == 0
    for sentence in sentences:
        assert sentence in text
    assert max(map(len, text.splitlines())) <= 100


def test_a_replacement_left_out_of_wfd_repl_says_why(said: Said, built: Path) -> None:
    subject = duckdb.sql(
        f"""SELECT subject.id FROM read_parquet('{built / PAIR}/wikifactdiff.parquet')
        WHERE is_replace AND relation.id = 'P1082' AND subject.id NOT IN (
            SELECT subject.id FROM read_parquet('{built / PAIR}/wfd_repl.parquet')
            WHERE relation.id = 'P1082') LIMIT 1"""
    ).fetchall()[0][0]
    status, text = said(subject, "population")
    assert status == 0
    said_once = " ".join(text.split())
    assert "Not in wfd_repl: its relation would otherwise prevail there" in said_once
    assert "(key `undersample`)" in said_once


def test_all_relations_of_a_subject(said: Said) -> None:
    status, text = said("Germany")
    assert status == 0
    assert "head of government (P6): An update of wikifactdiff: ReplaceObject." in text
    assert "capital (P36): No update" in text


def test_how_536_replacements_become_502_rows(said: Said) -> None:
    status, text = said()
    assert status == 0
    assert "502 of the 536 replacements in wfd_repl" in text
    assert "34  of 37 in population (P1082), left out by chance" in text
    kept = [int(line.split()[1].replace(",", "")) for line in text.splitlines() if line.startswith("  =")]
    assert len(kept) == 3


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("Germny", "P6"), "no subject is called Germny in either dump; did you mean Q183 (Germany"),
        (("Germany", "head of goverment"), "did you mean P6 (head of government"),
        (("Zzzzzz", "P6"), "no subject is called Zzzzzz in either dump"),
        (("Q183", "Q30"), "no relation is called Q30"),
    ],
)
def test_what_is_not_there_is_answered_with_what_is(
    said: Said, words: tuple[str, ...], sentence: str
) -> None:
    status, text = said(*words)
    assert status == 1
    assert sentence in text
