"""Rows of wfd_repl.parquet, from which every layout is written and into which it is read."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from factdrift.words.templates import BLANK

Row = dict[str, Any]
Record = dict[str, Any]

OURS = "factdrift"
"""The key of a record for columns that the layout has no field for; the loaders of others ignore it."""

EMPTY = "empty"
"""The key under `OURS` for fields of the layout that are empty: field -> reason."""

_NAMED = pa.struct([("id", pa.string()), ("label", pa.string()), ("description", pa.string())])
_OBJECT = pa.struct(
    [
        *_NAMED,
        *((name, pa.string()) for name in ("decision", "rule", "old_statement", "new_statement")),
        *((name, pa.int64()) for name in ("old_revision", "new_revision")),
        *((name, pa.string()) for name in ("start", "end", "point_in_time", "datatype", "raw", "short")),
        *((name, pa.bool_()) for name in ("announced", "leaks")),
    ]
)
_FACT = pa.struct(
    [
        ("object", _NAMED),
        *((name, pa.string()) for name in ("prompt", "raw", "statement")),
        ("dist", pa.float64()),
    ]
)
_NEIGHBOR = pa.struct(
    [
        ("subject", _NAMED),
        ("relation", _NAMED),
        *((name, pa.float64()) for name in ("dist", "popularity")),
        ("objects", pa.list_(_FACT)),
    ]
)
SCHEMA = pa.schema(
    [
        ("subject", _NAMED),
        ("relation", _NAMED),
        ("update_prompt", pa.string()),
        ("generalization_prompts", pa.list_(pa.string())),
        *((name, pa.bool_()) for name in ("subject_is_ph_new", "relation_is_temp_func", "is_replace")),
        ("subject_popularity", pa.float64()),
        ("objects", pa.list_(_OBJECT)),
        *((name, pa.list_(_NEIGHBOR)) for name in ("neighborhood", "random_neighborhood")),
        *((name, pa.string()) for name in ("scenario", "split", "popularity_source", "template_source")),
        ("subject_is_ambiguous", pa.bool_()),
    ]
)
"""The columns of wfd_repl.parquet (docs/tables/wikifactdiff.md)."""

_FIELD_OF_NONE = (
    *("subject", "relation", "subject_is_ph_new", "relation_is_temp_func", "subject_popularity"),
    *("neighborhood", "random_neighborhood", "split", "popularity_source", "template_source"),
    "subject_is_ambiguous",
)
"""Columns that no layout has a field for."""


def opened(cloze: str) -> str:
    """The text of a cloze before its blank."""
    return cloze.removesuffix(BLANK).rstrip()


def closed(text: str) -> str:
    """The cloze that consists of `text` and a blank."""
    return f"{text.rstrip()} {BLANK}"


def object_of(row: Row, decision: str) -> Row | None:
    """The object with `decision` (`new`, `obsolete`); None unless the update has exactly one."""
    found = [value for value in row["objects"] if value["decision"] == decision]
    return found[0] if len(found) == 1 else None


def kept(row: Row) -> list[tuple[str, Row]]:
    """(text before the object, object) of each neighbour fact, which must stay as it is."""
    neighbors = [*row["neighborhood"], *row["random_neighborhood"]]
    return [(opened(fact["prompt"]), fact["object"]) for each in neighbors for fact in each["objects"]]


def held(row: Row) -> Row:
    """The value of the key `OURS`: columns without a field, all paraphrases, all fields of the objects."""
    own = {name: row.get(name) for name in _FIELD_OF_NONE}
    return own | {
        "paraphrases": [opened(text) for text in row["generalization_prompts"]],
        "objects": row["objects"],
    }


class Fields(NamedTuple):
    """What the fields of a record say."""

    subject: str
    relation: str | None
    prompt: str
    paraphrases: Sequence[str]
    new: tuple[str | None, str]
    """(id, label)"""
    obsolete: tuple[str | None, str] | None
    """(id, label); without it the scenario is AddRelation."""
    neighbors: Sequence[tuple[str, str]]
    """(text before the object, object)"""


def row_of(record: Record, name: str, fields: Fields) -> Row:
    """The row of a record; what it leaves out is null.

    `name` identifies the record in its file and becomes the id of the subject, since layouts have none.
    Values under `OURS` fill in what the fields leave open.
    """
    ours = record.get(OURS, {})
    obsolete = [] if fields.obsolete is None else [_object(fields.obsolete, "obsolete")]
    objects = [*obsolete, _object(fields.new, "new")]
    known = {(value["decision"], value["label"]): value for value in ours.get("objects", [])}
    row: Row = {
        "subject": {"id": name},
        "relation": {"id": fields.relation},
        "subject_is_ph_new": False,
        "relation_is_temp_func": False,
        "neighborhood": [
            {
                "subject": {},
                "relation": {"id": fields.relation},
                "objects": [{"object": {"label": label}, "prompt": closed(text)}],
            }
            for text, label in fields.neighbors
        ],
        "random_neighborhood": [],
        **{column: ours[column] for column in _FIELD_OF_NONE if column in ours},
        "update_prompt": closed(fields.prompt),
        "generalization_prompts": [closed(text) for text in ours.get("paraphrases", fields.paraphrases)],
        "is_replace": fields.obsolete is not None,
        "scenario": "AddRelation" if fields.obsolete is None else "ReplaceObject",
        "objects": [known.get((value["decision"], value["label"]), value) for value in objects],
    }
    row["subject"] = row["subject"] | {"label": fields.subject}
    return row


def _object(value: tuple[str | None, str], decision: str) -> Row:
    return {"id": value[0], "label": value[1], "decision": decision}
