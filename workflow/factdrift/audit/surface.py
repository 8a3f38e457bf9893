"""Whether answers can be guessed from the form of the options, by a classifier that knows nothing else."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from factdrift.audit.of_tables import of_rows
from factdrift.core.columns import Row
from factdrift.core.intervals import bootstrap

FOLDS = 5
DRAWS = 2000
LEAST = 50
"""Questions below which no classifier is trained."""


class Question(NamedTuple):
    """The options of a question as they are shown, the position of the answer, and what is asked about.

    `kinds`: the kind of each option. Questions of one `group` are never on both sides of a fold.
    """

    options: Sequence[str]
    kinds: Sequence[str]
    answer: int
    group: str


class Guessed(NamedTuple):
    """How often the classifier chooses the answer, with a 95 % bootstrap interval over groups, and chance."""

    questions: int
    accuracy: float
    low: float
    high: float
    chance: float

    @property
    def leaks(self) -> bool:
        return self.low > self.chance


def questions_of_items(items: Sequence[Row]) -> list[Question]:
    """The items that have options."""
    return [*of_rows((item for item in items if item["options"]), _of_item)]


def _of_item(item: Row) -> Iterator[Question]:
    named = zip(item["option_ids"], map(len, item["options"]), strict=True)
    kinds = [_kind(identifier) for identifier, _ in named]
    yield Question(item["options"], kinds, item["answer_index"], f"{item['asked_s']} {item['asked_p']}")


def _kind(option: str) -> str:
    if re.fullmatch(r"Q\d+", option):
        return "item"
    return "date" if re.fullmatch(r"-?\d{4}(-.*)?", option) else "text"


def questions_of_updates(rows: Sequence[Row]) -> list[Question]:
    """Each replacement as the question which of two objects is the new one, in the order of their names."""
    return [*of_rows((row for row in rows if row["is_replace"]), _of_replacement)]


def _of_replacement(row: Row) -> Iterator[Question]:
    values = sorted(row["objects"], key=lambda object_: object_["label"])
    positions = [index for index, value in enumerate(values) if value["decision"] == "new"]
    if len(values) == 2 and len(positions) == 1:
        labels, kinds = [value["label"] for value in values], [value["datatype"] for value in values]
        yield Question(labels, kinds, positions[0], row["subject"]["id"])


def guess(questions: Sequence[Question], seed: int) -> Guessed | None:
    """Accuracy of a logistic regression over the options, cross-validated by group; None if there are few.

    Features of an option: its length and how it compares with the others', its kind and whether others have
    it, about how many different things it is an option, and its position. None depends on any answer.
    """
    groups = [question.group for question in questions]
    if len(questions) < LEAST or len(set(groups)) < FOLDS:
        return None
    offered = Counter(
        name for name, _ in {(name, question.group) for question in questions for name in question.options}
    )
    features = [_features(question, offered) for question in questions]
    wanted = [np.arange(len(question.options)) == question.answer for question in questions]
    right = np.zeros(len(questions))
    for train, test in GroupKFold(FOLDS, shuffle=True, random_state=seed).split(groups, groups=groups):
        model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
        rows, answers = ([of_all[position] for position in train] for of_all in (features, wanted))
        model.fit(np.vstack(rows), np.concatenate(answers))
        for position in test:
            right[position] = wanted[position][np.argmax(model.decision_function(features[position]))]
    order = np.argsort(groups, kind="stable")
    # Questions of a group are alike.
    low, high = bootstrap(
        right[order].astype(bool).tolist(), [groups[position] for position in order], seed, DRAWS
    )
    chance = float(np.mean([1 / len(question.options) for question in questions]))
    return Guessed(len(questions), float(right.mean()), low, high, chance)


def _features(question: Question, offered: Counter[str]) -> np.ndarray:
    """[options, features], a row of numbers for each option."""
    rows = []
    sizes = [len(option) for option in question.options]
    for index, (option, kind) in enumerate(zip(question.options, question.kinds, strict=True)):
        rows.append(
            [
                sizes[index],
                len(option.split()),
                sum(size < sizes[index] for size in sizes),
                sizes[index] - np.mean(sizes),
                any(character.isdigit() for character in option),
                sum(other == kind for other in question.kinds),
                *(kind == name for name in ("item", "date", "wikibase-item", "time", "quantity")),
                np.log(offered[option]),
                *(index == position for position in range(4)),
            ]
        )
    return np.array(rows, dtype=float)
