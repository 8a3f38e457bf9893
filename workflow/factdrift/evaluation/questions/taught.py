"""What TempRIPPLE and ripples ask, as sentences for the bundled models (docs/bundled-models.md)."""

import datetime
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from factdrift.core.columns import Row
from factdrift.evaluation.questions.clozes import condition_id
from factdrift.models.bundled.taught import RIPPLE, TAUGHT, changed_since
from factdrift.tempripple.phrases import as_of, ordinal_text
from factdrift.tempripple.schemas import TR_FACTS, TR_RELATED, read_rows
from factdrift.words.templates import before_blank

EPOCH = datetime.date(1970, 1, 1)
CRITERIA = ("logical", "compose_object", "compose_subject", "preserve", "specific")
"""Criteria whose conditions are taught; the others have none, or facts that the dataset teaches."""


def tempripple_wordings(facts: Path, related: Path, wikifactdiff: Path, old: datetime.date) -> list[Row]:
    """The wordings (TAUGHT) of what TempRIPPLE asks, as it held at T_old (`old`).

    Kinds: `tempripple`, a mutable fact that had certainly begun, with the ordinal of that day, counted from
    the last that had begun; `tempripple_edge`, a fact about its object from which a related fact follows;
    `tempripple_related`, the related fact itself (hop 1). Facts about objects are left out if they changed
    between the dumps.
    """
    timelines: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for fact in read_rows(facts, TR_FACTS):
        if fact["start_hi"] is not None and fact["start_hi"] <= (old - EPOCH).days:
            timelines[fact["s"], fact["p"]].append(fact)
    rows: list[dict[str, Any]] = []
    holders: dict[str, tuple[Row, str, str, str]] = {}
    for _, timeline in sorted(timelines.items()):
        for ordinal, fact in enumerate(sorted(timeline, key=lambda fact: int(fact["ordinal"])), start=1):
            # Every ordinal of a timeline has its own holder, and a phrase with the ordinal that it has then.
            relation = f"{fact['p']} {ordinal}"
            phrase = fact["phrase"].replace(fact["ordinal_text"], ordinal_text(ordinal), 1)
            # The object as running text has it. A statement about `Fulham F.C.` ends with one full stop.
            full = "" if fact["o_label"].endswith(".") else "."
            spoken = fact["statement"].removesuffix(full)[len(f"{fact['phrase']} is ") :]
            holders[fact["fact_id"]] = fact, relation, phrase, spoken
            columns = ("tempripple", fact["fact_id"], fact["s_label"], relation, fact["o_label"])
            rows += _worded(columns, phrase, spoken, old)
    changed = changed_since(wikifactdiff)
    done: set[tuple[str, str]] = set()
    for row in read_rows(related, TR_RELATED):
        edge = row["path"][0]
        if row["hop"] != 1 or row["fact_id"] not in holders or (edge["x"], edge["p"]) in changed:
            continue
        fact, holding, phrase, spoken = holders[row["fact_id"]]
        # "What is the birthplace of the previous mayor of X?" -> "the birthplace of the previous mayor of X"
        outer = row["question"].split(" ", 2)[2].removesuffix("?")
        value, asked = row["answer_label"], edge["p"]
        for kind, key, about, relation, inner in (
            ("tempripple_edge", f"{edge['x']} {asked}", fact["o_label"], asked, spoken),
            ("tempripple_related", row["rel_id"], fact["s_label"], f"{holding}>{asked}", phrase),
        ):
            if (kind, key) not in done:
                done.add((kind, key))
                wording = outer.replace(fact["phrase"], inner)
                rows += _worded((kind, key, about, relation, value), wording, value, old)[:2]
    return rows


def _worded(values: Sequence[str], phrase: str, spoken: str, old: datetime.date) -> list[Row]:
    """A row per wording of a fact: `The ... is`, `As of 4 January 2021, the ... is` and `... was`.

    `values`: those of the columns before the prompt, the object last.
    """
    article = spoken.removesuffix(values[-1])
    is_, was = (f"{phrase[0].upper()}{phrase[1:]} {verb} {article}".rstrip() for verb in ("is", "was"))
    prompts = (is_, as_of(old, is_), as_of(old, was))
    return [dict(zip(TAUGHT, (*values, prompt), strict=True)) for prompt in prompts]


def ripple_wordings(ripples: Path, names: Path, old: datetime.date, limit: int) -> list[Row]:
    """The wordings (TAUGHT) of the conditions of probes, which are facts of T_old (`old`).

    Of each criterion at most `limit` are drawn by their ids, none of new entities. Of several right answers
    the one of the condition's statement is taught. Wordings are the condition's own, without and with the
    day. `names`: the label of each item that a condition is about (`ripples.names`).
    """
    drawn: dict[str, dict[str, Mapping[str, Any]]] = {name: {} for name in CRITERIA}
    for probe in pq.read_table(ripples, columns=["criterion", "scenario", "conditions"]).to_pylist():
        if probe["criterion"] not in drawn or probe["scenario"] == "AddEntity":
            continue
        for condition in probe["conditions"]:
            drawn[probe["criterion"]][condition_id(condition)] = condition
    chosen: dict[str, Mapping[str, Any]] = {}
    for conditions in drawn.values():
        chosen |= sorted(conditions.items())[:limit]
    named = pq.read_table(names, columns=["id", "label"])
    labels = dict(zip(named["id"].to_pylist(), named["label"].to_pylist(), strict=True))
    rows: list[Row] = []
    for condition in chosen.values():
        step, prompt = condition["step"], before_blank(condition["prompt"])
        if prompt is None:
            continue
        value = next(answer for answer in condition["answers"] if answer["id"] == step["object"])
        row = {"kind": RIPPLE, "fact": f"{step['subject']} {step['relation']}", "relation": step["relation"]}
        row |= {"subject": labels[int(step["subject"][1:])], "object": value["label"]}
        rows += [{**row, "prompt": text} for text in (prompt, as_of(old, prompt))]
    return rows
