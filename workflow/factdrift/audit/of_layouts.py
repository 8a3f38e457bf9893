"""Checks of the files in the layouts of other projects against the table that they are made from."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from factdrift.audit.of_tables import Fault
from factdrift.audit.sentences import BLANK
from factdrift.core.columns import Row

Record = Mapping[str, Any]

READ = (
    *("subject", "relation", "update_prompt", "generalization_prompts", "objects", "neighborhood"),
    *("random_neighborhood", "subject_popularity"),
)
"""The columns of wfd_repl.parquet that the layouts are made from."""


def layout(path: Path, rows: Sequence[Row], ripple: Path) -> Iterator[Fault]:
    """What is wrong with a file; `rows` are those of wfd_repl.parquet, `ripple` has tr_facts.parquet."""
    records = json.loads(path.read_text(encoding="utf-8"))
    if path.stem == "mquake":
        yield from _mquake(records, ripple)
        return
    by_key = {(row["subject"]["id"], row["relation"]["id"]): row for row in rows}
    order = {key: place for place, key in enumerate(by_key)}
    seen: Counter[tuple[str, str]] = Counter()
    places = []
    for number, record in enumerate(records):
        own = record.get("factdrift") or {}
        key = (own.get("subject", {}).get("id"), own.get("relation", {}).get("id"))
        row = by_key.get(key)
        if row is None:
            yield Fault(f"{path.name} {number}", str(key[1]), f"wfd_repl has no row {key[0]} {key[1]}")
            continue
        seen[key] += 1
        places.append(order[key])
        for reason in _record(path.stem, number, record, row):
            yield Fault(f"{path.name} {number}", key[1], reason)
    for key, times in seen.items():
        if times > 1:
            yield Fault(f"{path.name} {key[0]} {key[1]}", key[1], f"{times} records")
    for key, row in by_key.items():
        if key not in seen and _is_due(path.stem, row):
            yield Fault(f"{path.name} {key[0]} {key[1]}", key[1], "the row has no record")
    if places != sorted(places):
        yield Fault(path.name, "", "the records are not in the order of the rows")


def _open(prompt: str) -> str:
    """A prompt up to its blank."""
    return prompt.partition(BLANK)[0].rstrip()


def _value(row: Row, decision: str) -> Row:
    return next(
        (value for value in row["objects"] if value["decision"] == decision), {"label": None, "id": None}
    )


def _facts(row: Row) -> list[tuple[str, str]]:
    """The neighbour facts as prompt and answer, the nearest first."""
    return [
        (_open(fact["objects"][0]["prompt"]), fact["objects"][0]["object"]["label"])
        for part in ("neighborhood", "random_neighborhood")
        for fact in row[part]
    ]


def _is_due(name: str, row: Row) -> bool:
    if name == "counterfact":
        return row["subject"]["label"] in row["update_prompt"]
    near = [_facts(row)[0]] if row["neighborhood"] else []
    return name in ("easyedit", "rippleedits") or bool(row["generalization_prompts"] and near)


def _counterfact(record: Record, row: Row) -> dict[str, tuple[Any, Any]]:
    asked, others = record["requested_rewrite"], [_open(each) for each in row["generalization_prompts"]]
    new, old = _value(row, "new"), _value(row, "obsolete")
    return {
        "prompt": (asked["prompt"].replace("{}", asked["subject"]), _open(row["update_prompt"])),
        "subject": (asked["subject"], row["subject"]["label"]),
        "relation_id": (asked["relation_id"], row["relation"]["id"]),
        "target_new": (asked["target_new"], {"str": new["label"], "id": new["id"]}),
        "target_true": (asked["target_true"], {"str": old["label"], "id": old["id"]}),
        "paraphrase_prompts": (record["paraphrase_prompts"], others),
        "generation_prompts": (record["generation_prompts"], others),
    }


def _easyedit(record: Record, row: Row) -> dict[str, tuple[Any, Any]]:
    first = _open(row["generalization_prompts"][0]) if row["generalization_prompts"] else None
    own = [
        (each["prompt"], each["ground_truth"][0][0])
        for each in record.get("locality", {}).get("Relation_Specificity", [])
    ]
    return {
        "subject": (record["subject"], row["subject"]["label"]),
        "prompt": (record["prompt"], _open(row["update_prompt"])),
        "target_new": (record["target_new"], _value(row, "new")["label"]),
        "ground_truth": (record.get("ground_truth"), _value(row, "obsolete")["label"]),
        "rephrase_prompt": (record.get("rephrase_prompt"), first),
        "rephrase": (record.get("rephrase"), first),
        "locality": (own, _facts(row)),
    }


def _rippleedits(record: Record, row: Row) -> dict[str, tuple[Any, Any]]:
    edit, prompt = record["edit"], _open(row["update_prompt"])
    by_field = {
        "example_type": (record["example_type"], "recent"),
        "subject_id": (edit["subject_id"], row["subject"]["id"]),
    }
    for name, fact, decision in (("edit", edit, "new"), ("original_fact", edit["original_fact"], "obsolete")):
        value = _value(row, decision)
        due = f"{prompt} {value['label']}.", value["id"] or value["label"]
        by_field[name] = (fact["prompt"], fact["target_id"]), due
    return by_field


def _wikibigedit(record: Record, row: Row) -> dict[str, tuple[Any, Any]]:
    nearest = _facts(row)[0] if _facts(row) else (None, None)
    return {
        "tag": (record["tag"], "update"),
        "subject": (record["subject"], row["subject"]["label"]),
        "update": (record["update"], _open(row["update_prompt"])),
        "rephrase": (record["rephrase"], _open(row["generalization_prompts"][0])),
        "ans": ((record["ans"], record["alt"]), (_value(row, "new")["label"],) * 2),
        "ground_truth": (record.get("ground_truth"), _value(row, "obsolete")["label"]),
        "loc": ((record["loc"], record["loc_ans"]), nearest),
    }


def _zsre(record: Record, row: Row) -> dict[str, tuple[Any, Any]]:
    nearest = _facts(row)[0] if _facts(row) else ("", None)
    prompt = _open(row["update_prompt"])
    new, old = (_value(row, decision)["label"] for decision in ("new", "obsolete"))
    return {
        "subject": (record["subject"], row["subject"]["label"]),
        "src": (record["src"], prompt),
        "rephrase": (record["rephrase"], _open(row["generalization_prompts"][0])),
        "alt": (record["alt"], new),
        "answers": (record["answers"], [old]),
        "pred": (record["pred"], old),
        "loc": ((record["loc"], record["loc_ans"]), (f"nq question: {nearest[0]}", nearest[1])),
        "cond": (record["cond"], f"{old} >> {new} || {prompt}"),
    }


_FIELDS: dict[str, Callable[[Record, Row], dict[str, tuple[Any, Any]]]] = {
    "counterfact": _counterfact,
    "easyedit": _easyedit,
    "rippleedits": _rippleedits,
    "wikibigedit": _wikibigedit,
    "zsre": _zsre,
}


def _record(name: str, number: int, record: Record, row: Row) -> Iterator[str]:
    try:
        fields = _FIELDS[name](record, row)
    except (KeyError, IndexError, TypeError) as error:
        yield f"the record lacks {error}"
        return
    for field, (value, due) in fields.items():
        if value != due:
            yield f"{field} is {value!r}, by the row {due!r}"
    if name == "counterfact":
        if record.get("case_id") != number:
            yield f"case_id is {record.get('case_id')}"
        for field in ("neighborhood_prompts", "attribute_prompts"):
            if len(record[field]) != len(set(record[field])):
                yield f"{field} has a prompt twice"
            if any(row["subject"]["label"] == each for each in record[field]):
                yield f"{field} asks for the subject"
    own = record["factdrift"]
    for column in ("subject", "relation", "neighborhood", "subject_popularity"):
        if column in own and own[column] != row[column]:
            yield f"factdrift.{column} differs from the row"


# --- MQuAKE ---------------------------------------------------------------------------------------------


def _mquake(records: Sequence[Record], ripple: Path) -> Iterator[Fault]:
    facts = {row["fact_id"]: row for row in pq.read_table(ripple / "tr_facts.parquet").to_pylist()}
    known = set()
    for row in pq.read_table(ripple / "tr_related.parquet", columns=["fact_id", "path"]).to_pylist():
        fact = facts.get(row["fact_id"])
        if fact:
            steps = [(step["x"], step["p"], step["value"]) for step in row["path"]]
            known.add((fact["role"], ((fact["s"], fact["p"], fact["o"]), *steps)))
    numbers = [record.get("case_id") for record in records]
    if len(set(numbers)) < len(numbers):
        yield Fault("mquake.json", "", "a case_id occurs twice")
    for record in records:
        name, origin = f"mquake.json {record.get('case_id')}", record.get("orig", {})
        for role, field, hops, answer in (
            ("old", "triples", "single_hops", "answer"),
            ("new", "new_triples", "new_single_hops", "new_answer"),
        ):
            triples = [tuple(each) for each in origin.get(field, [])]
            if (role, tuple(triples)) not in known:
                yield Fault(name, "", f"{field} is no chain of tr_related from a fact of the role {role}")
            if any(one[2] != other[0] for one, other in pairwise(triples)):
                yield Fault(name, "", f"{field}: a hop begins elsewhere")
            labelled = origin.get(f"{field}_labeled", [[]])
            answers = [each["answer"] for each in record.get(hops, [])]
            if answers != [each[-1] for each in labelled] or record.get(answer) != (answers or [None])[-1]:
                yield Fault(name, "", f"{answer} and {hops} are not the ends of {field}_labeled")
        first = (origin.get("new_triples") or [None])[0]
        if origin.get("edit_triples") != [first]:
            yield Fault(name, "", "edit_triples is not the first of new_triples")


# --- JSON Lines -----------------------------------------------------------------------------------------


def lines(path: Path, pair: Path) -> Iterator[Fault]:
    """What is wrong with a file of JSON Lines: the published layout of the updates, or that of KLoB."""
    if path.stem.startswith("KLoB-"):
        yield from _klob_lines(path, pair / f"klob_{path.stem[-1]}.parquet")
        return
    number = 0
    with path.open(encoding="utf-8") as file:
        for batch in pq.ParquetFile(pair / f"{path.stem}.parquet").iter_batches(batch_size=256):
            for row in batch.to_pylist():
                number += 1
                name, relation = f"{path.name} {number}", row["relation"]["id"]
                line = file.readline()
                if not line:
                    yield Fault(name, relation, f"there is no line of {row['subject']['id']} {relation}")
                elif reason := _beyond(json.loads(line), row):
                    yield Fault(name, relation, f"{reason} is not that of {row['subject']['id']} {relation}")
        if file.readline():
            yield Fault(path.name, "", f"there are more than {number} lines")


def _beyond(written: Any, due: Any, where: str = "") -> str | None:
    """The first field that is not as in the row, which may have further ones; None if there is none."""
    if isinstance(written, dict) and isinstance(due, dict):
        for name, value in written.items():
            inner = f"{where}.{name}".lstrip(".")
            if name not in due:
                return inner
            if difference := _beyond(value, due[name], inner):
                return difference
        return None
    if isinstance(written, list) and isinstance(due, list):
        if len(written) != len(due):
            return where
        return next(
            (f for one, two in zip(written, due, strict=True) if (f := _beyond(one, two, where))), None
        )
    return None if written == due else where or "the line"


def _klob_lines(path: Path, table: Path) -> Iterator[Fault]:
    """Each line has the sentences of one example, the chain's in lower case; their order may differ."""
    due: Counter[frozenset[str]] = Counter()
    for batch in pq.ParquetFile(table).iter_batches(columns=["sentences"], batch_size=1024):
        for row in batch.to_pylist():
            due[frozenset(each["text_blank"].casefold() for each in row["sentences"])] += 1
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate((each for each in file if each.strip()), 1):
            texts = frozenset(each.casefold() for each in _texts(json.loads(line)) if each.endswith(" _"))
            if due[texts] < 1:
                yield Fault(f"{path.name} {number}", "", f"no example has these sentences: {sorted(texts)}")
            due[texts] -= 1
    left = sum(number for number in due.values() if number > 0)
    if left:
        yield Fault(path.name, "", f"{left} examples have no line")


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _texts(part)
