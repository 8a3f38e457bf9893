"""Frames of answers, filled with drawn names: what asserts a name and what does not, whoever is asked for."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from factdrift.verdict.judge import Case, judged

HERE = Path(__file__).parent
NAMES = {
    row[0]: (row[1], row[2].split("|"), row[3].split("|"))
    for row in (line.split("\t") for line in (HERE / "frame_names.tsv").read_text().splitlines()[1:])
}
"""Relation -> its question, subjects and objects; `offices` has what may be the {P} of an office."""
FRAMES = [line.split("\t") for line in (HERE / "frames.tsv").read_text().splitlines()[1:]]
"""Relation, `yes` where {X} is asserted, the frame, and `left` where some fillings are read otherwise."""
FILLINGS = 6


def filled(relation: str, frame: str) -> Iterator[Case]:
    """Answers of a frame: {X} is right, {Y} was before, {Z} is another, {S} the subject, {P} the office."""
    question, subjects, objects = NAMES[relation]
    for number in range(FILLINGS):
        dice = Random(f"{frame} {number}")
        subject, office = dice.choice(subjects), dice.choice(NAMES["offices"][2])
        right, before, other = dice.sample([name for name in objects if name != subject], 3)
        label = office if office.isupper() else office[0].upper() + office[1:]
        names = {"{X}": right, "{Y}": before, "{Z}": other, "{S}": subject, "{P}": office, "{Pc}": label}
        text, asked = frame.replace("\\n", "\n"), question
        for mark, name in names.items():
            text, asked = text.replace(mark, name), asked.replace(mark, name)
        yield Case(text, (right,), (before,), (other,), asked)


@pytest.mark.parametrize("relation", sorted(NAMES.keys() - {"offices"}))
def test_a_frame_asserts_whoever_fills_it_or_nobody(relation):
    wrong = []
    for own, verdict, frame, left in FRAMES:
        if own == relation:
            results = [(case, judged(case)) for case in filled(relation, frame)]
            missed = [pair for pair in results if (pair[1].verdict == "correct") != (verdict == "yes")]
            if bool(missed) != bool(left):
                wrong.append(f"{verdict} {frame!r}: {[(case.text, result) for case, result in missed[:1]]}")
    assert not wrong, "\n".join(wrong)


SCENES = json.loads((HERE / "scenes.json").read_text())
BEFORE = (
    *("It is not true that ", "It is a myth that ", "I doubt that ", "Some fans hope that "),
    *("There are rumours that ", "In a parallel universe, "),
)
BEHIND = (
    *(", but that is no longer the case.", ", which is wrong.", " is a false statement."),
    *(", or at least that is what some people say.", ". That is wrong.", ". Actually, that is incorrect."),
    *(". But that is only a rumour.", ". This is no longer the case.", ". This statement is false."),
    *(". That was the case until 2019.", ". Wait, that is wrong.", ". No, that is not right."),
)


def claims() -> Iterator[tuple[str, dict[str, list[str]]]]:
    """Fresh answers of one plain sentence that are right, each seventh of them, with their scenes."""
    rows = [line.split("\t") for line in (HERE / "fresh_answers.tsv").read_text().splitlines()[1:]]
    for _, _, scene, text, verdict, rules in rows:
        several = SCENES[scene].get("several") or SCENES[scene].get("language", "en") != "en"
        plain = (
            re.fullmatch(r"[A-Z][^.!?;:()\"“|`{<#*]{25,150}\.", text) and verdict == "correct" and not rules
        )
        turned = re.search(
            r"\b(?:no|not|but|former|until|if|unless|[Aa]lthough|[Ww]hile|Even|As|Since|According|answer)\b|n't",
            text,
        )
        if plain and not (several or turned):
            yield text, SCENES[scene]


def test_a_claim_that_is_taken_back_is_not_correct():
    wrong, texts = [], list(claims())[::7]
    assert len(texts) > 100
    for text, scene in texts:
        for changed in (*(f"{before}{text}" for before in BEFORE), *(f"{text[:-1]}{end}" for end in BEHIND)):
            lists = {key: tuple(value) if isinstance(value, list) else value for key, value in scene.items()}
            if judged(Case(changed, **lists)).verdict == "correct":
                wrong.append(changed)
    assert not wrong, "\n".join(wrong)
