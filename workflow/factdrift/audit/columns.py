"""Which columns of the audited tables are checked, by which kinds, and which are not, and why."""

from collections.abc import Iterable, Mapping

import pyarrow as pa

from factdrift.audit.kinds import ASOF, KLOB, LAYOUTS, QUESTIONS, REPLACEMENTS, STREAM, UPDATES
from factdrift.audit.reading import Reading

_NAMES = ("id", "label", "description")

_NEIGHBOURS = {
    f"{part}.{field}": kinds
    for part in ("neighborhood", "random_neighborhood")
    for field, kinds in {
        **{f"{who}.{name}": "neighbour_words" for who in ("subject", "relation") for name in _NAMES},
        "subject.id": "neighbour nearest random",
        "relation.id": "neighbour neighbour_fact",
        "dist": "distance",
        "popularity": "neighbour_words",
        **{f"objects.object.{name}": "neighbour_words" for name in _NAMES},
        "objects.object.id": "neighbour_fact",
        "objects.prompt": "neighbour_words",
        "objects.raw": "neighbour_fact neighbour_answer",
        "objects.statement": "neighbour_fact random",
        "objects.dist": "distance neighbour_words",
    }.items()
}

_UPDATE = {
    **{f"{who}.{name}": "labels" for who in ("subject", "relation") for name in _NAMES},
    "subject.id": "missing rules statement",
    "relation.id": "missing rules statement",
    "update_prompt": "prompt leak unique",
    "generalization_prompts": "prompt leak template",
    "subject_is_ph_new": "scenario",
    "relation_is_temp_func": "scenario",
    "is_replace": "scenario",
    "subject_popularity": "popularity",
    "popularity_source": "popularity",
    "scenario": "scenario",
    "split": "drawn split",
    "objects.id": "main_snak twice",
    "objects.label": "labels",
    "objects.description": "labels",
    "objects.decision": "rules gone new static",
    "objects.rule": "rules",
    "objects.old_statement": "rules statement",
    "objects.new_statement": "rules statement",
    "objects.old_revision": "statement",
    "objects.new_revision": "statement",
    "objects.start": "dates",
    "objects.end": "dates",
    "objects.point_in_time": "dates",
    "objects.datatype": "main_snak",
    "objects.raw": "main_snak",
    "objects.short": "labels",
    "objects.announced": "rules",
    "objects.leaks": "rules leak",
    "template_source": "prompt",
    "subject_is_ambiguous": "ambiguous",
    **_NEIGHBOURS,
}

_ITEM = {
    **dict.fromkeys(("task", "hop", "s", "p", "asked_s", "asked_p", "fact_id", "rel_id", "as_of"), "marks"),
    "item_id": "order chain missing twice",
    "context": "wording leak",
    "question": "wording unique",
    "options": "options labels key",
    "option_ids": "options labels key",
    "answer_index": "key",
    "answer_label": "answer",
    "answer_aliases": "answer",
    "open_only": "marks",
    "discriminates": "marks",
    "flags": "marks",
}

_SENTENCES = {
    f"sentences.{name}": "sentence"
    for name in (
        *("sentence_id", "role", "place", "template_id", "text", "text_blank", "n_tokens"),
        *("target_id", "target_label", "target_aliases"),
    )
}

CHECKED: Mapping[str, Mapping[str, str]] = {
    UPDATES: _UPDATE,
    REPLACEMENTS: {**dict.fromkeys((*_UPDATE, "subject_is_ambiguous"), "replacements")},
    QUESTIONS: _ITEM,
    KLOB: {
        "example_id": "sentence twice",
        **dict.fromkeys(("s", "p1", "o1", "p2", "o2", "stmt1_id", "stmt2_id", "snapshot_id"), "fact"),
        **dict.fromkeys(("s_label", "o1_label", "o2_label", "o1_aliases", "o2_aliases"), "fact"),
        **dict.fromkeys(("rev_s", "rev_o1", "pop_s", "pop_o"), "fact"),
        "subtask": "sentence",
        "origin": "sentence",
        **_SENTENCES,
        "sentences.source_sentence_id": "words",
    },
    STREAM: {
        **dict.fromkeys((*_UPDATE, "subject_is_ambiguous"), "pair"),
        **dict.fromkeys(("interval", "old_date", "new_date"), "pair link"),
        **dict.fromkeys(("chain", "link", "links", "superseded_by", "changes.superseded_by"), "link"),
        **dict.fromkeys(("reverts", "changes.reverts"), "link"),
        **{
            f"{where}{name}": "dated"
            for where in ("", "changes.")
            for name in ("date", "first_day", "last_day", "dated_by")
        },
    },
    ASOF: {
        **dict.fromkeys(
            (
                *("task", "hop", "s", "p", "asked_s", "asked_p", "rel_id", "as_of", "chain", "precision"),
                *("first_day", "last_day", "open_only", "flags"),
            ),
            "marks",
        ),
        "item_id": "twice",
        "question": "asked twice",
        **dict.fromkeys(("context", "discriminates", "answer_aliases"), "asked"),
        "options": "options",
        "option_ids": "options held",
        "option_verdicts": "options",
        "answer_index": "options held",
        "answer_label": "held options",
        "date": "held marks",
    },
}
"""Dataset -> column -> the kinds that see it; fields of structs as `objects.rule`."""

_POOL = "which answers may be options is worked out from all items, which the audit does not repeat"
_CHOSEN = "the hash that decides among the candidates is not repeated, so what was not chosen is not known"

UNCHECKED: Mapping[str, Mapping[str, str]] = {
    UPDATES: {
        "neighborhood: entities that do not state the relation plainly": "whether the filters keep the facts "
        "of one that was left out is not worked out again",
        "neighborhood.objects.prompt, random_neighborhood.objects.prompt": "which of the templates the seed "
        "chooses; that it is one of the relation's is checked",
        "random_neighborhood": "which of the facts the seed draws; their number is checked",
    },
    REPLACEMENTS: {},
    QUESTIONS: {
        **dict.fromkeys(
            ("pool_size", "options: which and where", "open_only: why", "flags: other_kind"), _POOL
        ),
        "tr_facts, tr_related": "of these tables, which are not published, only facts, order, dates, "
        "statements, paths and answers are compared",
    },
    KLOB: {
        "p1_name": "a name of the published layout",
        "p2_name": "a name of the published layout",
        "recall_pass": "it is what a model answered",
        "line": "a line of an imported file",
        "rows that are missing": _CHOSEN,
        "words of KLoB-u": "only their number is checked, not that they are words of the list",
    },
    STREAM: {
        **{
            f"{where}{name}": "it needs the dumps of all dates; the audit reads two"
            for where in ("", "changes.")
            for name in ("lag_min", "lag_max")
        },
    },
    ASOF: {
        "fact_id": "an id without a meaning of its own",
        **dict.fromkeys(
            ("pool_size", "options: which and where", "open_only: why", "flags: other_kind"), _POOL
        ),
        "context: its day": "of what held last, if nothing holds at the last date",
        "holds: before, then": "only `now` is compared, with the task",
        "rows that are missing": "which dates are asked about is not worked out again",
    },
    LAYOUTS: {
        "prompts about shared objects": "CounterFact's neighborhood_prompts and attribute_prompts come from "
        "shared_objects.parquet, which is not audited; that none occurs twice is checked",
        "portability, mhop": "questions of TempRIPPLE in easyedit and wikibigedit are not compared with it",
    },
}
"""Dataset -> what no kind sees -> why."""


def unchecked(datasets: Iterable[str], reading: Reading) -> dict[str, dict[str, str]]:
    """Of these datasets what is not checked in this build, and why."""
    found = {name: dict(UNCHECKED[name]) for name in datasets if UNCHECKED.get(name) is not None}
    updates = found[UPDATES]
    if reading.configuration["pageviews"] != "none":
        updates["subject_popularity"] = "the page views are not read"
    if reading.nearby.documents is None:
        updates["neighborhood.dist, nearest"] = "the old dump has too many articles to compare all of them"
    if not reading.dumps.templates.are_known:
        updates["prompts"] = (
            "only the subject and the blank are checked: the templates are not the bundled ones"
        )
    return {name: each for name, each in found.items() if each}


def columns_of(schema: pa.Schema) -> list[str]:
    """The columns of a table, fields of structs and of lists of structs as `objects.rule`."""
    return [name for field in schema for name in _fields(field.name, field.type)]


def _fields(name: str, kind: pa.DataType) -> list[str]:
    while pa.types.is_list(kind):
        kind = kind.value_type
    if not pa.types.is_struct(kind):
        return [name]
    return [each for field in kind for each in _fields(f"{name}.{field.name}", field.type)]
