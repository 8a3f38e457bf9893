"""Why a fact is in the dataset or not, in words, for the sample: by id or name, whether it changed or not."""

from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from factdrift.cli import main

Said = Callable[..., tuple[int, str]]

PAIR = "results/2021-01-04_2023-02-27"


@pytest.fixture
def said(built: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Said:
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
    ("words", "sentences"),
    [
        (
            ("Germany", "head of government"),
            (
                "Angela Merkel (to 2021-12-08) was replaced by Olaf Scholz (from 2021-12-08): an update of",
                "In wfd_repl.",
                "8 more; `--all` shows every row",
                "2023-02-27: normal rank, from 2005-11-22, to 2021-12-08",
                "rule replaced: the only value of a functional relation",
                "filter preferred drops it from the dump of 2023-02-27, so that it counts as gone",
            ),
        ),
        (("Q159", "P463"), ("ceased to hold", "Archive.", "Not in wfd_repl", "rule ended_inside")),
        (("germany", "Capital"), ("No update: nothing in this group changed", "still_holds")),
        (("Q183", "P463"), ("is unknown (undecided): World Trade Organization, Interpol",)),
        (("UK", "P6"), ("Liz Truss (from 2022-09-06 to 2022-10-25) came and went between the dumps",)),
        (("Q183", "P570"), ("Neither dump has a statement of this relation about this subject",)),
        # Statements that decided nothing are shown if they are asked for.
        (("Germany", "P6", "--all"), ("Adenauer",)),
        # All relations of a subject, and where an item is an object.
        (
            ("Germany",),
            (
                "head of government (P6): Angela Merkel (to 2021-12-08) was replaced by Olaf Scholz",
                "no update of head of state (P35), capital (P36), currency (P38)",
                "An object of 171 subjects and relations:\n  Canada (Q16), diplomatic relation (P530)\n",
            ),
        ),
        (("Germany", "--all"), ("capital (P36): No update: nothing in this group changed.",)),
        (
            ("Liz Truss",),
            (
                "An object of 2 subjects and relations:\n  United Kingdom (Q145), head of government (P6)\n",
                "why Q145 P6 Q272201` says",
            ),
        ),
    ],
)
def test_the_decision_is_told(said: Said, words: tuple[str, ...], sentences: tuple[str, ...]) -> None:
    status, text = said(*words)
    assert status == 0
    for sentence in sentences:
        assert sentence in text
    assert max(map(len, text.splitlines())) <= 100
    assert ("Adenauer" in text) == (words[-1] == "--all" and "P6" in words)


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


@pytest.mark.parametrize("name", ["Liz Truss", "liz truss", "Q272201"])
def test_one_object_alone(said: Said, name: str) -> None:
    status, text = said("UK", "P6", name)
    assert status == 0
    said_once = " ".join(text.split())
    assert "came and went between the dumps and is in no row: the filter preferred drops it:" in said_once
    assert "Boris Johnson" not in text
    status, text = said("UK", "P6", "Q20055561")
    assert "is in wikifactdiff as new, by the rule replaced_from:" in " ".join(text.split())


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
        (
            ("UK", "P6", "Lis Truss"),
            "relation is called Lis Truss in either dump; did you",
        ),
    ],
)
def test_what_is_not_there_is_answered_with_what_is(said, words, sentence):
    status, text = said(*words)
    assert status == 1
    assert sentence in text
