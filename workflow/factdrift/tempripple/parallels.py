"""Which questions show whether a model used the new fact or an old one: the column `discriminates`.

The parallel of a chain is the chain along the same properties from a fact of the other role in the same
timeline. Where both end in the same answer, a right answer does not show which of the two facts it came from.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence

from factdrift.tempripple.phrases import normal, year
from factdrift.tempripple.schemas import Row


def mark_facts(facts: Sequence[Row]) -> None:
    """Sets `discriminates` of rows of TR_FACTS: whether no fact of the other role has the same object."""
    _mark((fact, (fact["s"], fact["p"]), fact["role"], _names(fact["o"], fact["o_label"])) for fact in facts)


def mark_related(related: Sequence[Row], facts: Iterable[Row]) -> None:
    """Sets `discriminates` of the rows of TR_RELATED. They must be all rows of the build, before any cap.

    The value is None where the other role has no chain along the same properties. Dates are compared by year,
    because options may be cut to years.
    """
    by_id = {fact["fact_id"]: fact for fact in facts}

    def described(row: Row) -> tuple[Row, Hashable, str, frozenset[str]]:
        fact = by_id[row["fact_id"]]
        chain = fact["s"], fact["p"], *(step["p"] for step in row["path"])
        answer = (
            frozenset([year(row["answer_id"])[0]])
            if row["value_type"] == "time"
            else _names(row["answer_id"], row["answer_label"])
        )
        return row, chain, fact["role"], answer

    _mark(map(described, related))


def _names(value: str, label: str) -> frozenset[str]:
    """Two answers are the same if they share an element: the value, or how its label reads."""
    return frozenset([f"value {value}", f"label {normal(label)}"])


def _mark(described: Iterable[tuple[Row, Hashable, str, frozenset[str]]]) -> None:
    """Compares each row, by its chain, with the answers of the rows of the other role."""
    rows = list(described)
    answers: dict[tuple[Hashable, bool], set[str]] = defaultdict(set)
    for _, chain, role, answer in rows:
        answers[chain, role == "new"] |= answer
    for row, chain, role, answer in rows:
        parallel = answers.get((chain, role != "new"))
        row["discriminates"] = None if parallel is None else parallel.isdisjoint(answer)
