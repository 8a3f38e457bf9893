"""Verdicts by rule: hand-made answers, ten and more for each row of cue words, and what spoils them."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random

import pytest

from factdrift.core.errors import InputError
from factdrift.core.files import write_json
from factdrift.core.paths import CUES, RESOURCES
from factdrift.core.tables import rows_of
from factdrift.verdict.cues import COLUMNS, read_cues, spelled_out
from factdrift.verdict.judge import Case, judged
from factdrift.verdict.text import contains, exact_match, keys_of

HERE = Path(__file__).parent
SCENES = json.loads((HERE / "scenes.json").read_text())
ROWS = [line.split("\t") for line in (HERE / "answers.tsv").read_text().splitlines()[1:]]

FRESH = [line.split("\t") for line in (HERE / "fresh_answers.tsv").read_text().splitlines()[1:]]
"""Fresh answers: set, kind, scene, text, a reader's verdict, and that of the rules where it differs."""


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
    wrong = []
    for own, _, scene, text, verdict, rules in FRESH:
        expected = rules or verdict
        if own == number and (result := judged(case(scene, text))).verdict != expected:
            wrong.append(f"{text!r} is {expected}, not {result.verdict}: {result.reason}")
    assert not wrong, "\n".join(wrong)


def test_no_fresh_answer_is_taken_for_correct():
    assert not [row for row in FRESH if row[5] == "correct"]


REJECTED = [line.split("\t") for line in (HERE / "rejected.tsv").read_text().splitlines()[1:]]


def test_what_a_reader_rejects_is_not_correct():
    assert not [text for scene, text in REJECTED if judged(case(scene, text)).verdict == "correct"]


def drawn(number: int) -> Iterator[Case]:
    """Answers that nobody wrote: two in one, names exchanged, a word less, another scene's names."""
    dice, texts = Random(number), defaultdict(list)
    for scene, text in (*REJECTED, *(row[2:4] for row in (*FRESH, *ROWS))):
        texts[scene].append(text)
    scenes = sorted(texts)
    for _ in range(number):
        scene = dice.choice(scenes)
        own = case(scene, dice.choice(texts[scene]))
        names, text = [*own.accepted, *own.stale, *own.others], own.text
        way = dice.randrange(6)
        if way <= 1:
            text += dice.choice((" ", " ", "\n", "; ", " - ")) + dice.choice(texts[scene])
        elif way == 2:
            words = text.split(" ")
            words.pop(dice.randrange(len(words)))
            text = " ".join(words)
        elif way == 3:
            for name in names:
                text = text.replace(name, dice.choice(names))
        elif way == 4:
            other = case(dice.choice(scenes), "")
            for old, new in zip((*other.accepted, *other.stale, *other.others), names, strict=False):
                text = text.replace(new, old)
            own = other._replace(stale=(*other.stale, *own.stale), others=(*other.others, *own.accepted))
        yield own._replace(text=text, several=own.several != (dice.random() < 0.1))


@pytest.mark.digests
def test_no_verdict_on_a_drawn_answer_changes_unseen(tmp_path, digests):
    judgements = [judged(each) for each in drawn(3000)]
    assert len({each.reason for each in judgements}) >= 30
    assert min(Counter(each.verdict for each in judgements).values()) >= 20
    write_json(judgements, tmp_path / "judged.json")
    digests("verdicts on drawn answers", tmp_path, ["judged.json"])


def test_ten_answers_use_each_row_of_cue_words():
    uses = Counter((language, kind) for language, kind, *_ in ROWS)
    table = [line.split("\t") for line in CUES.read_text().splitlines()[1:]]
    for scene, text in (*REJECTED, *(row[2:4] for row in (*FRESH, *ROWS))):
        language = SCENES[scene].get("language", "en")
        keys = keys_of(f"{text} {SCENES[scene].get('question', '')}")
        spoken = {keys[at : at + size] for at in range(len(keys)) for size in range(1, 9)}
        rows = [row for row in table if row[0] in (language, "*")]
        uses.update((row[0], row[1]) for row in rows if spoken & phrases(row[2]))
    assert not [tuple(row[:2]) for row in table if uses[row[0], row[1]] < 10]


@cache
def phrases(cell: str) -> frozenset[tuple[str, ...]]:
    """The phrases of a row of cue words."""
    words = [word for alternatives in cell.split("|") for word in spelled_out(alternatives)]
    return frozenset(keys_of(word.partition("=")[0]) for word in words)


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


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "1,234 ",
        pytest.param("Joe Biden, ", marks=pytest.mark.slow),
        "not ",
        "a-",
        "<think>",
        "J. ",
        "[a](",
    ],
)
def test_only_the_beginning_of_a_huge_text_is_read(unit):
    text = unit * (1_000_000 // len(unit))
    scene = "date" if unit[0].isdigit() else "us"
    assert (
        judged(case(scene, text)).verdict
        == judged(case(scene, text + " It is Joe Biden on 3 May 2021.")).verdict
    )


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


def test_no_text_stops_the_judge():
    """Words of the table, names and signs in drawn orders have a verdict, as texts without names have."""
    dice, scenes = Random(0), sorted(SCENES)
    words = [word.partition("=")[0] for _, row in rows_of(CUES, COLUMNS) for word in row[2].split("|")]
    signs = [*",.;:?!()|\n-", '"', "**", "and", "the", "it is", "Foo Bar", "12 March 1999", "3"]
    for _ in range(300):
        scene = dice.choice(scenes)
        names = [name for side in ("accepted", "stale") for name in SCENES[scene].get(side, ())]
        parts = [
            dice.choice(dice.choice((words, words, names or signs, signs)))
            for _ in range(dice.randint(1, 14))
        ]
        assert judged(case(scene, " ".join(map(str, parts)))).verdict
    assert judged(case("us", "x) y\n" * 2000)).verdict  # a line is cut behind its last word
    for scene, text in (("pol9", "S"), ("us", "Although Foo Bar claims otherwise, it is so.")):
        assert judged(case(scene, text)).verdict == "wrong"
