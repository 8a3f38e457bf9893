"""A small invented dataset of updates with the columns of wfd_repl.parquet."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.evaluation.questions.updates import Choice, write_edits

RULERS = {
    "Atlantis": ("Marta Kowalska", "Joe Biden"),
    "New Orleans": ("Zoë Müller", "Marta Kowalska"),
    "Poseidonis": ("Joe Biden", "Zoë Müller"),
    "America": ("Joe", "Marta"),
    "the sea": ("a baker", "Joe Biden"),
}
CLOZES = (
    "The head of government of {} is ____",
    "{} has a government led by ____",
    "At the head of {} stands ____",
)


def update(subject: str, number: int, **changes: Any) -> dict[str, Any]:
    """A row of the dataset: one ruler follows another."""
    old, new = RULERS[subject]
    others = [name for name in RULERS if name != subject]
    facts = [
        {
            "dist": 0.1 * place + 0.1,
            "popularity": float(place),
            "objects": [{"prompt": CLOZES[place % 3].format(name), "object": {"label": RULERS[name][0]}}],
        }
        for place, name in enumerate(others)
    ]
    row = {
        "subject": {"id": f"Q{number}", "label": subject},
        "relation": {"id": "P6", "label": "head of government"},
        "update_prompt": CLOZES[0].format(subject),
        "generalization_prompts": [cloze.format(subject) for cloze in CLOZES[1:]],
        "objects": [{"label": old, "decision": "obsolete"}, {"label": new, "decision": "new"}],
        "neighborhood": facts[:2],
        "random_neighborhood": facts[2:],
        "scenario": "ReplaceObject",
        "split": "test" if number % 2 else "train",
        "subject_popularity": 10.0 - number,
    }
    return row | changes


def dataset(path: Path, rows: list[dict[str, Any]] | None = None) -> Path:
    """Writes rows, or one update of each subject."""
    if rows is None:
        rows = [update(subject, number) for number, subject in enumerate(RULERS, start=1)]
    pq.write_table(pa.Table.from_pylist(rows), path)
    return path


def edits(folder: Path, rows: list[dict[str, Any]] | None = None, **choices: Any) -> Path:
    """Writes a dataset and its edits; returns the table of edits."""
    path = dataset(folder / "dataset.parquet", rows)
    write_edits(path, folder / "edits.parquet", Choice(**choices))
    return folder / "edits.parquet"
