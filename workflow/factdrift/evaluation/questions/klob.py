"""KLoB's sentences as questions; none is about an edit."""

import pyarrow.parquet as pq

from factdrift.evaluation.questions.clozes import read_edits
from factdrift.evaluation.questions.question import Benchmark, Question, Tables


def read(tables: Tables) -> Benchmark:
    """The sentences of klob_c and klob_r as cloze tests, with the updates that a model may have been told."""
    questions = [
        Question(
            f"{example['example_id']}#{place}",
            role=f"klob_{example['subtask']} {sentence['role']}",
            prompt=sentence["text"],
            targets=(sentence["target_label"],),
            accepted=(sentence["target_label"],),
            ways=("loglik", "written"),
        )
        for path in tables.questions
        for example in pq.read_table(path, columns=["example_id", "subtask", "sentences"]).to_pylist()
        for place, sentence in enumerate(example["sentences"])
    ]
    return Benchmark("klob", questions, read_edits(tables.edits).edits if tables.edits else ())
