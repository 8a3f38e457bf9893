"""Lets a loaded model write who holds: it continues the sentence, or answers a turn. Imports torch."""

from collections.abc import Sequence

from factdrift.evaluation.questions.question import Question
from factdrift.evaluation.session import Session
from factdrift.evaluation.ways import written as writing
from factdrift.evaluation.ways.asked import Asked
from factdrift.evaluation.ways.cutoff_rows import Row, about, written


def ask(session: Session, chains: Sequence[Row]) -> list[Row]:
    """Rows of ANSWERS in the order of the chains, by their first wording; dates of death are not asked."""
    asked = [row for row in chains if row["died"] is None]
    questions = [Asked(Question(row["chain"], prompt=row["prompts"][0])) for row in asked]
    model = session.loaded.name
    return [
        {**about(row, model, "written"), "reason": said["reason"]}
        if said.get("reason")
        else written(row, model, said["output"])
        for row, said in zip(asked, writing.ask(session, questions, {}), strict=True)
    ]
