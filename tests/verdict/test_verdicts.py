"""Verdicts by rule: hand-made answers, ten and more for each row of cue words, and what spoils them."""

import json
import time
from collections import Counter
from pathlib import Path

import pytest

from factdrift.core.errors import InputError
from factdrift.core.paths import CUES, RESOURCES
from factdrift.verdict.cues import COLUMNS, read_cues
from factdrift.verdict.judge import Case, judged
from factdrift.verdict.matching import contains, exact_match

HERE = Path(__file__).parent
SCENES = json.loads((HERE / "scenes.json").read_text())
ROWS = [line.split("\t") for line in (HERE / "answers.tsv").read_text().splitlines()[1:]]

FRESH = [line.split("\t") for line in (HERE / "fresh_answers.tsv").read_text().splitlines()[1:]]
LEFT = [
    ("1", "Mark Carney n'est plus Premier ministre.", "unclear"),
    ("1", "Justin Trudeau jusqu'en 2025, puis Mark Carney.", "unclear"),
    ("1", "Gabriel Boric ya no es presidente.", "unclear"),
    ("1", "El expresidente Sebastián Piñera.", "unclear"),
    ("1", "Giorgia Meloni non è più presidente del Consiglio.", "unclear"),
    ("4", "You can't say that Bassirou Diomaye Faye is president.", "refused"),
    (
        "4",
        "If Ousmane Sonko had not been barred, he rather than Bassirou Diomaye Faye would be president.",
        "denied",
    ),
    ("6", "Dina Ercilia Boluarte Zegarra", "wrong"),
    ("6", "It is rumoured that Dina Boluarte has resigned.", "denied"),
    ("6", "Army General (ret.) Petr Pavel", "wrong"),
    ("6", "Percy Bysshe Shelley wrote the preface, Mary Shelley the novel.", "wrong"),
    (
        "7",
        "I apologize, but I cannot provide real-time information. "
        "As of early 2021, the president was Edgar Lungu.",
        "refused",
    ),
    ("7", "Michael Sata until 2014, Edgar Lungu until 2021.", "wrong"),
    ("7", "Simon Harris is Tánaiste; Micheál Martin is Taoiseach.", "stale"),
    ("7", "He joined from Manchester City.", "stale"),
    ("7", "Merlin Polzin ist nicht länger Trainer, ihm folgte Steffen Baumgart.", "denied"),
    ("8", "In 2015 it was Justin Trudeau, in 2025 Mark Carney.", "stale"),
    ("8", "Nach Angela Merkel kam Olaf Scholz und nach ihm Friedrich Merz.", "stale"),
    ("9", "The 1984 film was directed by David Lynch, and the 2021 film by Denis Villeneuve.", "wrong"),
    ("9", "Karol Nawrocki ist Präsident des Instituts für Nationales Gedenken.", "unclear"),
    (
        "10",
        "Gabriel Boric Font is the current president of Chile, having taken office on 11 March 2022.",
        "wrong",
    ),
    ("10", "José Antonio Kast Rist, inaugurated on 11 March 2026, is Chile's president.", "wrong"),
    ("10", "José Antonio Kast ran against Gabriel Boric in 2021 and lost.", "unclear"),
    ("10", "Michael Fiddelke, COO", "unclear"),
    ("10", "Michael Fiddelke reports to the CEO.", "unclear"),
    (
        "10",
        "Tite resigned after the 2022 World Cup, and as of my last update a permanent "
        "successor had not been named.",
        "wrong",
    ),
    ("10", "Liverpool legend Ian Rush recommends him.", "unclear"),
    ("10", "The population was 1,478,800 in 2023 and 1,547,200 in 2024.", "both"),
    ("10", "C.S. Lewis wrote the Narnia books; The Hobbit is by Tolkien.", "wrong"),
    ("10", "Swiss German", "unclear"),
    ("11", "Rodrigo Paz Pereira is the president of Bolivia.", "wrong"),
    ("11", "Bolivia's current president is Luis Alberto Arce Catacora.", "wrong"),
    (
        "11",
        "Thailand is a constitutional monarchy, in which the King is the head of state "
        "and the Prime Minister, Anutin Charnvirakul, is the head of government.",
        "wrong",
    ),
    ("11", "Kevin Warsh is a fellow at the Hoover Institution.", "unclear"),
    ("11", "Thomas Frank manages Brentford.", "unclear"),
    (
        "11",
        "As of my last update, Taylor Swift is not married. She has been dating Travis Kelce since 2023.",
        "refused",
    ),
    ("11", "Anchorage Capital", "wrong"),
    ("11", "Republic of Turkey (Türkiye Cumhuriyeti)", "stale"),
    ("11", "Stanford", "wrong"),
    ("11", "Petr Pavel ist Präsident, Andrej Babiš Regierungschef.", "wrong"),
    ("11", " C. Douglas McMillon, who has led the company since 2014.", "wrong"),
    ("12", "António José Seguro resigned as party leader in 2014.", "denied"),
    ("12", "Sushila Karki was the Chief Justice of Nepal.", "unclear"),
    ("12", "BP has poached Meg O'Neill from Woodside.", "denied"),
    ("12", "Álvaro Arbeloa played for Real Madrid from 2009 to 2016.", "unclear"),
    ("12", "Zohran Mamdani won the Democratic primary.", "denied"),
    ("12", "Andrew Cuomo ran as an independent against Zohran Mamdani, who won.", "wrong"),
    ("12", "Arlington, Virginia (since 2022; before that Chicago, and before 2001 Seattle)", "wrong"),
    ("12", "It began on July 28, 1914, and ended on November 11, 1918.", "wrong"),
    ("12", "Sébastien Lecornu ist Verteidigungsminister.", "unclear"),
    ("12", "Emmanuel Macron ernannte Sébastien Lecornu am 9. September 2025 zum Premierminister.", "wrong"),
    ("13", "Apple was founded on April 1, 1976, and Microsoft on April 4, 1975.", "wrong"),
]
"""Fresh answers on which rules and reader differ: set, text, verdict of the rules."""


def case(scene: str, text: str) -> Case:
    lists = {key: tuple(value) if isinstance(value, list) else value for key, value in SCENES[scene].items()}
    return Case(text.replace("\\n", "\n"), **lists)


@pytest.mark.parametrize(
    "kind", sorted({(row[0], row[1]) for row in ROWS}), ids=lambda kind: f"{kind[0]}-{kind[1]}"
)
def test_answers_of_a_row_of_cue_words(kind):
    wrong = []
    for language, name, scene, text, verdict in ROWS:
        if (language, name) == kind and (found := judged(case(scene, text))).verdict != verdict:
            wrong.append(f"{text!r} is {verdict}, not {found.verdict}: {found.reason}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("number", sorted({row[0] for row in FRESH}))
def test_fresh_answers(number):
    """Written with a reader's verdicts before the rules were tried; docs/written.md has the numbers."""
    wrong = {
        text: judged(case(scene, text)).verdict
        for own, _, scene, text, verdict in FRESH
        if own == number and judged(case(scene, text)).verdict != verdict
    }
    assert wrong == {text: verdict for own, text, verdict in LEFT if own == number}


def test_no_fresh_answer_is_taken_for_correct():
    assert not [
        text for _, _, scene, text, verdict in FRESH if _is_correct(scene, text) and verdict != "correct"
    ]


def _is_correct(scene: str, text: str) -> bool:
    return judged(case(scene, text)).verdict == "correct"


def test_each_row_of_cue_words_has_ten_answers():
    cases = Counter((row[0], row[1]) for row in ROWS)
    cases += Counter((SCENES[row[2]].get("language", "en"), row[1]) for row in FRESH)
    rows = [tuple(line.split("\t")[:2]) for line in CUES.read_text().splitlines()[1:]]
    assert not [row for row in rows if cases[row] < 10]


@pytest.mark.slow
def test_every_label_is_found_in_itself():
    """Also `Yahoo! Inc.`, `Netflix (streaming service)`, `Cluny – La Sorbonne` and `1. FC Nürnberg`."""
    tables = [table.read_text().splitlines() for table in (RESOURCES / "sample/entities").glob("*.tsv")]
    labels = sorted({line.split("\t")[1] for table in tables for line in table[1:]} - {""})
    odd = [label for label in labels if not label.replace(" ", "").isalpha()]
    assert len(odd) > 500
    named = (Case(f"It is {label}.", (label,), ("Zanzibar Quux",)) for label in [*odd, *labels[::10]])
    assert not [each.text for each in named if judged(each).verdict != "correct"]


def test_a_wrong_table_of_cue_words_names_its_line(tmp_path):
    table = tmp_path / "cues.tsv"
    for row, message in (
        ("en\tsmell\trose", "line 2: kind is 'smell'"),
        ("en\tnot\t|no", "line 2: an empty word"),
        ("en\tnumber\tone", "line 2: an empty word, or one without"),
        ("en\tnot\tno\nen\tnot\tnever", "line 3: not has a row already"),
    ):
        table.write_text("\t".join(COLUMNS) + "\n" + row + "\n")
        with pytest.raises(InputError, match=message):
            read_cues("en", table)


@pytest.mark.parametrize("unit", ["a", "1,234 ", "Joe Biden, ", "not ", "a-", "<think>", "J. ", "[a]("])
def test_only_the_beginning_of_a_huge_text_is_read(unit):
    start = time.process_time()
    judged(case("us", unit * (1_000_000 // len(unit))))
    judged(case("date", unit * (1_000_000 // len(unit))))
    assert time.process_time() - start < 5


def test_contains_counts_what_the_verdict_does_not():
    assert contains("It is not Joe Biden.", ["Joe Biden", "Biden"])
    assert not contains("joe biden", ["Joe Biden"])
    assert not contains("", ["Joe Biden"])


def test_exact_match_is_that_of_the_harness():
    harness = pytest.importorskip("lm_eval.api.metrics").exact_match_hf_evaluate
    given = [(text.replace("\\n", "\n"), SCENES[scene]["accepted"]) for _, _, scene, text, _ in ROWS]
    given += [(text, row["accepted"]) for row in READ for text in (row["text"], row["text"].split(". ")[0])]
    matches = 0
    for text, accepted in given:
        settings = {"ignore_case": True, "ignore_punctuation": True}
        found = [harness([text.strip()], [name], **settings)["exact_match"] for name in accepted]
        assert exact_match(text, accepted) == any(found), text
        matches += any(found)
    assert 10 < matches < len(given)


READ = [json.loads(line) for line in (HERE / "read.jsonl").read_text().splitlines()]
"""300 answers of each of two trainings of the bundled model, drawn at random and read one by one.

The first training never stopped, so only first sentences were read. Its answers are to the clozes of updates,
to TempRIPPLE and to KLoB, with the new fact before or without; those of the second to updates, ripples and
TempRIPPLE in all states. The reader saw the verdicts, and noted another one where the rules were wrong.
"""
DISAGREED = [
    " Japan is United Kingdom",  # it contradicts itself
    " ViacomCBS Inc",  # "Inc.K.", which is no name
    " federal state of Denmark is Rivlin",
]


def verdict_on(row: dict[str, object]) -> str:
    lists = {name: tuple(row[name]) for name in ("accepted", "stale", "others")}
    several = row.get("several", False)
    return judged(Case(row["text"], **lists, question=row["prompt"], several=several)).verdict


def test_rules_and_reading_agree():
    other = [row for row in READ if verdict_on(row) != row["reading"]]
    assert len(READ) == 2 * 300
    assert len(other) / 300 <= 0.02
    assert [row["text"].split(".")[0] for row in other] == DISAGREED
