"""What became of a subject and relation, in sentences, and the statements that decided it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from factdrift.pages.browse.build import Build
from factdrift.pages.browse.view import Decision, Pair, Relation

MOST = 3
"""Values that a sentence names; of more it gives the number."""

ROWS = 8
"""Statements that are shown as those that decided, at most."""


def text_of(pair: Pair, *words: str) -> str:
    """The value of a row with its dates; `words`: with those dates only (`from`, `to`, `at`)."""
    statement = pair.latest
    dates = [f"{word} {date}" for word, date in statement.dates if not words or word in words]
    return f"{statement.value.text} ({' '.join(dates)})" if dates else statement.value.text


def listed(texts: Sequence[str]) -> str:
    """Texts as a list in words: `a, b and c`; the number of those beyond MOST."""
    shown = [*texts[:MOST], *([f"{len(texts) - MOST:,} more"] if len(texts) > MOST else [])]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def deciding(relation: Relation, build: Build) -> list[Pair]:
    """The rows that decided, at most ROWS: those of the update, or those on whose account there is none.

    Values that came and went between the dumps are among them.
    """
    labels = {decision.label for pair in relation.pairs for decision in pair.decisions}
    label = "unknown" if "unknown" in labels else "static"

    def decides(pair: Pair) -> bool:
        decisions = pair.decisions
        if relation.update is None:
            return any(decision.label == label for decision in decisions)
        return any(decision.reached for decision in decisions)

    return [pair for pair in relation.pairs if decides(pair) or came_and_went(pair, build)][:ROWS]


def came_and_went(pair: Pair, build: Build) -> bool:
    """Whether the fact began and ended between the dumps and is in no row for that."""
    words = [word for word, _ in pair.latest.dates]
    old, new = (int(date.replace("-", "")) for date in (build.old, build.new))
    reached = any(decision.reached for decision in pair.decisions)
    inside = pair.span is not None and old < pair.span[0] and 0 < pair.span[1] < new
    return inside and not reached and {"from", "to"} <= set(words)


def sentences(relation: Relation, build: Build, texts: Mapping[str, str]) -> list[str]:
    """What became of the relation, and which values came and went. `texts`: meanings of steps."""
    answer = [_update(relation) if relation.update is not None else _none(relation, texts)]
    if gone := [text_of(pair) for pair in relation.pairs if came_and_went(pair, build)]:
        rows = "so that no row has this value" if len(gone) == 1 else "so that no row has these values"
        answer.append(f"{listed(gone)} came and went between the dumps, {rows}.")
    return answer


def _update(relation: Relation) -> str:
    assert relation.update is not None
    scenario = relation.update["scenario"]
    reached = [pair for pair in relation.pairs if any(decision.reached for decision in pair.decisions)]
    ended, begun = (
        listed([text_of(pair, *words) for pair in reached if pair.tone == tone] or ["nothing"])
        for tone, words in (("obsolete", ("to", "at")), ("new", ()))
    )
    if scenario == "ReplaceObject":
        return f"{ended} was replaced by {begun}: an update of wikifactdiff, ReplaceObject."
    parts = [f"{begun} began to hold"] if begun != "nothing" else []
    parts += [f"{ended} ceased to hold"] if ended != "nothing" else []
    return f"Between the dumps {' and '.join(parts) or 'it changed'}: an update of wikifactdiff, {scenario}."


def _none(relation: Relation, texts: Mapping[str, str]) -> str:
    rules = [decision for pair in relation.pairs for decision in pair.decisions if decision.kind == "rule"]
    if relation.open and rules:
        steps = [decision.step for decision in rules if decision.step]
        # The step that took the whole group says more than those that took one triple of it.
        step = max(dict.fromkeys(steps), key=steps.count, default="")
        blamed = [pair for pair in relation.pairs if pair.tone == "unknown"] if step == "unknown" else []
        names = sorted({decision.name for pair in blamed for decision in pair.decisions if decision.label})
        values = f" ({', '.join(names)}): {listed([text_of(pair) for pair in blamed])}" if blamed else ""
        return f"No update: {texts.get(f'step {step}', step)}{values}."
    if rules:
        return "No update: both dumps state the same values, and no date of them can be a change."
    return "No update: filters drop every statement of it."


def of_value(pair: Pair, build: Build, texts: Mapping[str, str]) -> str:
    """Whether the dataset has a value, and why."""
    value = text_of(pair)
    if reached := next((decision for decision in pair.decisions if decision.reached), None):
        meaning = texts.get(f"rule {reached.name}", "")
        return f"{value} is in wikifactdiff as {reached.label}, by the rule {reached.name}: {meaning}."
    between = " came and went between the dumps and" if came_and_went(pair, build) else ""
    causes = "; ".join(decided(decision, build, texts) for decision in pair.decisions)
    return f"{value}{between} is in no row: {causes or 'neither dump has a change of it'}."


def decided(decision: Decision, build: Build, texts: Mapping[str, str]) -> str:
    """A decision in words: by a filter, of which dump; by a rule, with its label and what left it out."""
    meaning = texts.get(f"{decision.kind} {decision.name}", decision.name)
    if decision.kind == "filter":
        where = f" from the dump of {build.date(decision.side)}" if decision.side else ""
        gone = ", so that it counts as gone" if decision.side == "new" else ""
        return f"the filter {decision.name} drops it{where}{gone}: {meaning}"
    text = f"rule {decision.name}: {meaning} -> {decision.label}"
    return f"{text}; left out: {texts.get(f'step {decision.step}', decision.step)}" if decision.step else text
