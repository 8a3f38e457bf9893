"""Converts updates to edits with probes (docs/editing.md): of a dataset, or of a stream.

Edits of a stream are in the order of the changes, with what becomes of each later.
"""

import datetime
import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from factdrift.core.columns import Row, schema_of, struct_of
from factdrift.core.errors import InputError
from factdrift.core.products import no_file
from factdrift.core.tables import check_columns, write_rows
from factdrift.evaluation.questions.question import probe_id
from factdrift.words.dates import as_of, month_text
from factdrift.words.templates import before_blank

SCENARIOS = {
    "replacement": "ReplaceObject",
    "archive": "Archive",
    "add_object": "AddObject",
    "add_relation": "AddRelation",
    "add_entity": "AddEntity",
    "other": "Other",
}
"""Name of a scenario in the configuration -> in the dataset."""

_PROBE = struct_of("role: string, place: int16, object prompt target: string, dist popularity: float64")
NAMES = pa.list_(struct_of("label: string, aliases: [string]"))
"""Objects that are asked for, with their other names in either snapshot; without those that have none."""
EDITS = schema_of(
    "edit subject relation scenario kind split datatype: string, subject_popularity: float64",
    "subject_label relation_label prompt target new obsolete: string, fluency: bool",
    ("probes", pa.list_(_PROBE)),
    ("names", NAMES),
)
"""A row per edit, in the order of the dataset. The number of a probe is its index in `probes`; `datatype` is
that of the objects, null if it is not known."""
STREAM_EDITS = schema_of(
    *EDITS,
    "interval: int32, old_date new_date chain: string, link superseded_by superseded_in: int32",
    "replaces: [string]",
)
"""A row per edit, in the order in which the edits are made: EDITS, and where it is in the stream.

A probe of the role `later` asks the update's own cloze for the object that a later edit of the chain writes;
`place` is the link of that edit.
"""
_STREAM = ("interval", "old_date", "new_date", "chain", "link", "first_day", "last_day", "changes")

_NEIGHBORS = {"nearest": "neighborhood", "random": "random_neighborhood", "popular": "popular_neighborhood"}
"""Role of a probe -> column of the dataset; the last is there with `neighbors.choice: popular` only."""
_OPTIONAL = ("split", "subject_popularity", "popular_neighborhood")

NEEDED = (
    *("subject", "relation", "scenario", "update_prompt", "generalization_prompts", "objects"),
    *("neighborhood", "random_neighborhood"),
)


class Choice(NamedTuple):
    """Which updates become edits, and how."""

    scenarios: Sequence[str] = ("replacement",)
    split: str = "all"
    """`train`, `test` or `all`."""
    limit: int = 0
    """The number of edits, drawn by a seeded hash (of a stream, of their chains; of new entities, of the
    subjects, so that all but the last are whole); 0 for all."""
    archive_target: str = "nothing"
    """The target of an edit that archives an object."""
    known: int = 0
    """The number, among those, of edits whose obsolete object a model knows, and of others; 0 for all."""
    answers: Path | None = None
    """What the model wrote after the update clozes without any edit, for `known`."""
    recall: bool = False
    """Whether edits have only the probes of the update cloze: questions whose answers are `answers`."""
    seed: int = 0
    fluency_sample: float = 1.0
    """The share of edits, drawn the same way, whose fluency is measured; not of a stream."""
    dated: bool = False
    """Whether edit prompts begin with the month of the newer dump, in a stream that of their interval."""
    new_date: datetime.date | None = None
    """Of the newer dump; not of a stream."""
    entities: Sequence[Path] = ()
    """Tables of the items of the dumps, whose aliases are accepted in writing; without any, labels only."""


def write_edits(dataset: Path, output: Path, choice: Choice) -> int:
    """Writes EDITS of the chosen updates of a dataset; returns their number.

    Raises InputError if the file lacks a column, no update fits, or `known` has no `answers`.
    """
    rows = read_updates(dataset, NEEDED, choice)
    dated = choice.new_date if choice.dated else None
    edits = [edit for row in rows for edit in edits_of(row, choice.archive_target, dated)]
    whole = SCENARIOS["add_entity"]
    drawn_by = {edit["edit"]: edit["subject" if edit["scenario"] == whole else "edit"] for edit in edits}
    drawn = sorted(drawn_by, key=lambda edit: draw("limit", choice.seed, drawn_by[edit]))
    drawn = drawn[: choice.limit or None]
    if choice.known:
        drawn = _halves(drawn, choice)
    chosen = set(drawn)
    edits = [edit for edit in edits if edit["edit"] in chosen]
    for edit in edits:
        drawn_at = draw("fluency", choice.seed, edit["edit"])
        edit["fluency"] = not choice.recall and drawn_at < choice.fluency_sample * 2**64
        if choice.recall:
            edit["probes"] = [probe for probe in edit["probes"] if probe["role"] == "update"]
    return _write(dataset, edits, choice, EDITS, output)


def _halves(edits: Sequence[str], choice: Choice) -> list[str]:
    """The first `known` edits whose obsolete object the model wrote, then as many of the others.

    Edits of which there is no verdict are in neither half. Prints the size of both; raises InputError if
    there are no answers.
    """
    if choice.answers is None:
        raise InputError("edit.known: name what the unedited model wrote after the update clozes (--answers)")
    check_columns(choice.answers, ("question", "way", "verdict"), "; give answers of `factdrift evaluate`")
    answers = pq.read_table(choice.answers, columns=["question", "way", "verdict"]).to_pylist()
    verdicts = {row["question"]: row["verdict"] for row in answers if row["way"] == "written"}
    parts: dict[bool, list[str]] = {True: [], False: []}
    for edit in edits:
        if verdict := verdicts.get(probe_id(edit, "c1")):
            parts[verdict in ("stale", "both")].append(edit)
    for name, own in zip(("known", "not known"), parts.values(), strict=True):
        print(f"old object {name}: {len(own[: choice.known]):,} edits of {len(own):,}")
    return [edit for part in parts.values() for edit in part[: choice.known]]


def read_updates(path: Path, columns: Sequence[str], choice: Choice) -> list[Row]:
    """The updates of the chosen scenarios and split, with these columns and those of _OPTIONAL that exist.

    Raises InputError if the file or a column is missing, or it is no Parquet file.
    """
    if not path.is_file():
        raise no_file(path)
    check_columns(path, columns, "; give wfd_repl.parquet, a stream's stream.parquet, or one like them")
    known = pq.read_schema(path).names
    present = [name for name in (*columns, *_OPTIONAL) if name in known]
    wanted = {SCENARIOS[name] for name in choice.scenarios}
    rows: list[Row] = pq.read_table(path, columns=present).to_pylist()
    return [row for row in rows if row["scenario"] in wanted and choice.split in ("all", row.get("split"))]


def is_stream(path: Path) -> bool:
    """Whether a table of updates is that of a stream, whose updates are linked in chains.

    Raises InputError if there is no such file, or it is no Parquet file.
    """
    if not path.is_file():
        raise no_file(path)
    check_columns(path, (), "; give a table of updates")
    return "chain" in pq.read_schema(path).names


def draw(what: str, seed: int, edit: str) -> int:
    """A number below 2^64, a hash of the arguments."""
    return int.from_bytes(hashlib.sha256(f"{what} {seed} {edit}".encode()).digest()[:8], "big")


def edits_of(row: Row, archive_target: str, dated: datetime.date | None = None) -> Iterator[Row]:
    """The edits of an update: a replacement, else an edit per new object, else per obsolete object.

    `dated`: the edits' prompts begin with its month, "As of February 2023, "; probes have no date.
    """
    named = [value for value in row["objects"] if value["label"]]
    new, obsolete = (
        [value["label"] for value in named if value["decision"] == decision]
        for decision in ("new", "obsolete")
    )
    if len(new) == len(obsolete) == 1:
        pairs = [("replace", new[0], obsolete[0])]
    elif new:
        pairs = [("add", label, None) for label in new]
    else:
        pairs = [("archive", None, label) for label in obsolete]
    prompt = before_blank(row["update_prompt"])
    if prompt is None:
        return
    kinds = (of.get("datatype") or ("wikibase-item" if of.get("id") else None) for of in row["objects"])
    datatype = next(filter(None, kinds), None)
    name = f"{row['subject']['id']}-{row['relation']['id']}"
    for number, (kind, added, gone) in enumerate(pairs, start=1):
        yield {
            "edit": name if len(pairs) == 1 else f"{name}-{number}",
            "subject": row["subject"]["id"],
            "relation": row["relation"]["id"],
            "scenario": row["scenario"],
            "kind": kind,
            "split": row.get("split"),
            "datatype": datatype,
            "subject_popularity": row.get("subject_popularity"),
            "subject_label": row["subject"]["label"],
            "relation_label": row["relation"]["label"],
            "prompt": as_of(month_text(dated), prompt) if dated else prompt,
            "target": archive_target if kind == "archive" else added,
            "new": added,
            "obsolete": gone,
            "probes": list(_probes(row, prompt, added, gone)),
            # The ids, until `_write` replaces them.
            "names": dict(_items(row)),
        }


def _items(row: Row) -> Iterator[tuple[str, str]]:
    """Label and id of each object of the update, and of its neighbours, that is an item."""
    neighbors = (fact for column in _NEIGHBORS.values() for fact in row.get(column) or ())
    for value in (*row["objects"], *(fact["objects"][0]["object"] for fact in neighbors)):
        if value["label"] and (value.get("id") or "").startswith("Q"):
            yield value["label"], value["id"]


def _write(path: Path, edits: Sequence[Row], choice: Choice, schema: pa.Schema, output: Path) -> int:
    """Gives the edits NAMES and writes them; raises InputError if there are none.

    NAMES are the other names, in the tables of entities, of the items that the edits ask for.
    """
    if not edits:
        raise InputError(
            f"{path}: no update of {', '.join(choice.scenarios)} in split {choice.split} names its objects "
            "and ends in one; name other scenarios (edit.scenarios), wikifactdiff.parquet (edit.dataset), or "
            "more dates of a stream (stream)"
        )
    ((name, _), number), *_ = Counter((edit["edit"], edit.get("interval")) for edit in edits).most_common(1)
    if number > 1:  # answers are joined by the name
        raise InputError(f"{path}: the update {name} is there {number} times; keep it once")
    items = {int(item[1:]) for edit in edits for item in edit["names"].values()}
    wanted, columns = pc.field("id").isin(sorted(items)), ["id", "label", "aliases"]
    known: dict[str, dict[str, None]] = {}
    for table in choice.entities:
        for row in pq.read_table(table, columns=columns, filters=wanted).to_pylist():
            names = known.setdefault(f"Q{row['id']}", {})
            names.update(dict.fromkeys(filter(None, (row["label"], *(row["aliases"] or ())))))
    for edit in edits:
        asked = dict.fromkeys(probe["target"] for probe in edit["probes"])
        edit["names"] = [
            {"label": label, "aliases": others}
            for label in asked
            if (others := [name for name in known.get(edit["names"].get(label), ()) if name != label])
        ]
    return write_rows(edits, schema, output)


def _probes(row: Row, prompt: str, new: str | None, obsolete: str | None) -> Iterator[Row]:
    """Probes on the update's own clozes, asking for all of its objects, and of facts that must not change."""
    others = enumerate(map(before_blank, row["generalization_prompts"]))
    clozes = [("update", 0, prompt)]
    clozes += [("generalization", number, before) for number, before in others if before is not None]
    for role, number, before in clozes:
        for name, label in (("new", new), ("obsolete", obsolete)):
            if label is not None:
                yield {"role": role, "place": number, "object": name, "prompt": before, "target": label}
    for role, column in _NEIGHBORS.items():
        for number, fact in enumerate(row.get(column) or ()):
            (first, *_) = fact["objects"]
            cloze, target = before_blank(first["prompt"]), first["object"]["label"]
            if cloze is not None and target:
                asked = {"role": role, "place": number, "object": "neighbor", "prompt": cloze}
                near = {key: fact.get(key) for key in ("dist", "popularity")}
                yield {**asked, "target": target, **near}


def write_stream_edits(stream: Path, output: Path, choice: Choice) -> int:
    """Writes STREAM_EDITS of the chosen updates; returns their number.

    With a limit, chains are drawn by a seeded hash until they have `limit` edits. The order is that of the
    intervals, in them that of the last day on which the change may have been. Raises InputError if the file
    lacks a column or no update fits.
    """
    rows = read_updates(stream, (*NEEDED, *_STREAM), choice)
    known = pq.read_table(stream, columns=["chain", "link", "interval"]).to_pylist()
    intervals = {(row["chain"], row["link"]): row["interval"] for row in known}
    edits = [edit for row in rows for edit in _placed(row, choice, intervals)]
    if choice.limit:
        # Whole chains in the order of their hashes; the last one may be cut.
        edits.sort(key=lambda edit: (draw("limit", choice.seed, edit["chain"]), edit["interval"]))
        edits = edits[: choice.limit]
    edits.sort(key=lambda edit: (edit["interval"], edit["last_day"], edit["first_day"], edit["edit"]))
    _linked(edits)
    return _write(stream, edits, choice, STREAM_EDITS, output)


def _placed(row: Row, choice: Choice, intervals: dict[tuple[str, int], int]) -> Iterator[Row]:
    """The edits of an update, named by its interval, too, with the end of the fact that it writes."""
    dated = datetime.date.fromisoformat(row["new_date"]) if choice.dated else None
    ends: dict[str, list[int | None]] = {"new": [], "obsolete": []}
    for value, change in zip(row["objects"], row["changes"], strict=True):
        if value["label"] and value["decision"] in ends:
            ends[value["decision"]].append(change["superseded_by"])
    # An edit for each new object, or for each obsolete one, in their order: two may share a label.
    edits = edits_of(row, choice.archive_target, dated)
    for edit, by in zip(edits, ends["new"] or ends["obsolete"], strict=False):
        yield {
            **edit,
            **{name: row[name] for name in _STREAM if name != "changes"},
            "edit": f"{edit['edit']}@{row['interval']}",
            "fluency": False,
            "superseded_by": by,
            "superseded_in": None if by is None else intervals[row["chain"], by],
        }


def _linked(edits: Sequence[Row]) -> None:
    """Adds `replaces` and the probes `later`, with their items, which the other edits of the chain have."""
    chains: dict[str, list[Row]] = {}
    for edit in edits:
        chains.setdefault(edit["chain"], []).append(edit)
    for chain in chains.values():
        items = {label: item for edit in chain for label, item in edit["names"].items()}
        for edit in chain:
            edit["names"] = {**items, **edit["names"]}
            ended = (earlier for earlier in chain if earlier["superseded_in"] is not None)
            edit["replaces"] = [own["edit"] for own in ended if own["superseded_in"] <= edit["interval"]]
            if edit["superseded_in"] is None or edit["new"] is None:
                continue
            later = {
                other["link"]: other["new"]
                for other in reversed(chain)
                if other["interval"] >= edit["superseded_in"] and other["new"] not in (None, edit["new"])
            }
            for link, new in sorted(later.items()):
                named = {"role": "later", "place": link, "object": "later"}
                edit["probes"].append({**named, "prompt": edit["probes"][0]["prompt"], "target": new})
