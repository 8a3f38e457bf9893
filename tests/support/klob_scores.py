"""Invented examples and scores for the tests of KLoB's measures."""

from typing import Any

import numpy as np

from factdrift.klob.scoring.inputs import Scores


def row(example: int, kinds: str, **labels: Any) -> dict[str, Any]:
    """An example whose sentences are singles or expressions (`e`), chains (`c`) or random (`u`)."""
    names = {"e": "expr", "c": "chain", "u": "random"}
    subtask = "u" if "u" in kinds else "r" if "c" in kinds else "c"
    known = {"s": f"Q{example}", "p1": "P1", "o1": "Q0", "p2": "P2" if subtask == "r" else None}
    known |= labels
    sentences = [
        {
            "sentence_id": f"{subtask}{example}.{place}",
            "role": names[kind],
            "text": f"words {example} {place}",
            "source_sentence_id": f"c{example}.{place}" if kind == "u" else None,
        }
        for place, kind in enumerate(kinds)
    ]
    return {"example_id": f"{subtask}{example}", "subtask": subtask, "sentences": sentences} | known


def overall(measures: list[dict[str, Any]]) -> dict[tuple[str, str | None], dict[str, Any]]:
    """(measure, population) -> its row over all relations."""
    return {(row["measure"], row["population"]): row for row in measures if row["relation"] is None}


def dense(*rows: tuple[float, ...], **more: Any) -> Scores:
    names = [f"c0.{place}" for place in range(len(rows))]
    known = {"name": "tried", "model": "m", "revision": "r", "granularity": "neuron", "sign": "as_given"}
    known |= {"sentences": names} | more
    return Scores(units=len(rows[0]), dense=np.array(rows, np.float64), **known)
