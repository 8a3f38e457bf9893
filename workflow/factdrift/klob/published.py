"""Import and export of the published files: KLoB-c.jsonl, KLoB-r.jsonl, KLoB-u.jsonl.

Some of their keys are misspelt. Both spellings are read, the published one is written.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Meta, Struct

from factdrift.core.columns import Row
from factdrift.core.errors import InputError
from factdrift.core.files import utf8_lines, write_json
from factdrift.core.owned import atomic_path, claim
from factdrift.core.tables import database, sql, write_parquet
from factdrift.klob.build import sentence_row, short_id, table1, write_subtask
from factdrift.klob.schemas import EXAMPLES, SENTENCES, SUBTASK, SUBTASKS

BLANK = " _"
_RELATION = re.compile(r"(?P<name>.*)_\((?P<pid>P\d+)\)", re.DOTALL)
_NAMES = {"owned-uy": "owned-by"}
"""Misprints of the published names."""

_SPELLINGS = {
    "single_knowledge_prompts": "single_knowlege_prompts",
    "knowledge_chain_prompt": "knowlege_chain_prompt",
}
"""The correct spelling of a key -> the published one."""

_Prompts = Annotated[list[str], Meta(min_length=1)]


class _Fact(Struct):
    prompts: _Prompts
    knowledge: tuple[str, str, str]


class _Chain(Struct):
    single_knowledge: tuple[str, str, str]
    knowledge_chain: tuple[str, str, str, str, str]
    single_knowlege_prompts: _Prompts
    knowlege_chain_prompt: str


def file_name(subtask: str) -> str:
    return f"KLoB-{subtask}.jsonl"


def import_published(folder: Path, output: Path) -> dict[str, int]:
    """Reads the files of a folder and writes the tables of KLoB to another; returns subtask -> examples.

    Ids of items are null, because they are not published; `origin` is `published`. `klob_meta.json` records
    whether each file escapes characters beyond ASCII; `export` does the same. The table of a subtask that an
    earlier import wrote and the folder lacks is removed. Raises InputError that names file and line if a line
    is no record of KLoB.
    """
    files = {subtask: folder / file_name(subtask) for subtask in SUBTASKS}
    present = {subtask: path for subtask, path in files.items() if path.is_file()}
    if not present:
        raise InputError(f"{folder}: none of {', '.join(path.name for path in files.values())} is here")
    examples: list[Row] = []
    sentences: list[Row] = []
    repeats: Counter[str] = Counter()
    ascii_only: dict[str, bool] = {}
    for subtask, path in present.items():
        lines = [(number, line) for number, line in enumerate(utf8_lines(path), start=1) if line.strip()]
        ascii_only[path.name] = any("\\u" in line for _, line in lines) and all(
            line.isascii() for _, line in lines
        )
        for number, line in lines:
            example, own = _read(subtask, f"{path}, line {number}", line, repeats)
            examples.append(example | {"origin": "published", "line": number})
            sentences += own
    examples.sort(key=lambda row: str(row["example_id"]))
    sentences.sort(key=lambda row: str(row["sentence_id"]))
    tables = output / "klob_examples.parquet", output / "klob_sentences.parquet"
    subtasks = {subtask: output / f"klob_{subtask}.parquet" for subtask in SUBTASKS}
    # Those of an earlier import do not belong to these tables.
    absent = [path for subtask, path in subtasks.items() if subtask not in present and path.exists()]
    written = [*tables, output / "klob_meta.json", *(subtasks[subtask] for subtask in present), *absent]
    claim(output, (path.name for path in written))
    for path in absent:
        path.unlink()
    write_parquet(pa.Table.from_pylist(examples, schema=EXAMPLES), tables[0])
    write_parquet(pa.Table.from_pylist(sentences, schema=SENTENCES), tables[1])
    for subtask in present:
        write_subtask(*tables, subtask, subtasks[subtask])
    with database() as db:
        for name, table in zip(("examples", "sentences"), tables, strict=True):
            db.execute(f"CREATE VIEW {name} AS SELECT * FROM read_parquet({sql(table)})")
        account = {"origin": "published", "ascii": ascii_only, "table1": table1(db)}
    write_json(account, output / "klob_meta.json", indent=2)
    return {subtask: sum(row["subtask"] == subtask for row in examples) for subtask in present}


def _read(subtask: str, where: str, line: str, repeats: Counter[str]) -> tuple[Row, list[Row]]:
    """A line as a row of EXAMPLES and its rows of SENTENCES."""
    try:
        record = json.loads(line)
        if subtask == "c":
            return _read_c(msgspec.convert(record, _Fact), repeats)
        if subtask == "r":
            if isinstance(record, dict):
                record = {_SPELLINGS.get(key, key): value for key, value in record.items()}
            return _read_r(msgspec.convert(record, _Chain), repeats)
        text = _text(record)
    except ValueError as error:
        raise InputError(f"{where}: not a record of KLoB-{subtask} as it was published: {error}") from None
    example = _example("u", repeats, text)
    return example, [sentence_row(example["example_id"], "u", "random", 1, text)]


def _read_c(record: _Fact, repeats: Counter[str]) -> tuple[Row, list[Row]]:
    subject, relation, target = record.knowledge
    name, pid = _relation(relation)
    known = {"s_label": subject, "p1": pid, "o1_label": target}
    example = _example("c", repeats, *known.values(), "", "") | known | {"p1_name": name, "o1_aliases": []}
    return example, _wordings(example, "expr", record.prompts, target)


def _read_r(record: _Chain, repeats: Counter[str]) -> tuple[Row, list[Row]]:
    chain = record.knowledge_chain
    if chain[:3] != record.single_knowledge:
        raise ValueError(f"the chain does not begin with the single fact {record.single_knowledge}")
    (name1, p1), (name2, p2) = (_relation(relation) for relation in (chain[1], chain[3]))
    known = {"s_label": chain[0], "p1": p1, "o1_label": chain[2], "p2": p2, "o2_label": chain[4]}
    example = _example("r", repeats, *known.values()) | known
    example |= {"p1_name": name1, "p2_name": name2, "o1_aliases": [], "o2_aliases": []}
    rows = _wordings(example, "single", record.single_knowlege_prompts, chain[2])
    about = {"template_id": f"{p1}>{p2}", "target_label": chain[4], "target_aliases": []}
    text = _text(record.knowlege_chain_prompt)
    rows.append(sentence_row(example["example_id"], "r", "chain", len(rows) + 1, text, **about))
    return example, rows


def _wordings(example: Row, role: str, texts: Sequence[str], target: str) -> list[Row]:
    """Rows of SENTENCES about the first fact of an example."""
    about: Row = {"target_label": target, "target_aliases": []}
    ids = example["example_id"], example["subtask"], role
    return [
        sentence_row(*ids, place, _text(text), template_id=f"{example['p1']}-{place}", **about)
        for place, text in enumerate(texts, start=1)
    ]


def _example(subtask: str, repeats: Counter[str], *parts: str) -> Row:
    """A row of EXAMPLES whose id is a hash of `parts`; equal records are numbered."""
    key = "|".join((subtask, *parts))
    identifier = short_id(f"{key}|{repeats[key]}" if repeats[key] else key)
    repeats[key] += 1
    return dict.fromkeys(EXAMPLES.names) | {"example_id": identifier, "subtask": subtask}


def _relation(cell: str) -> tuple[str, str]:
    match = _RELATION.fullmatch(cell)
    if match is None:
        raise ValueError(f"{cell!r} is no relation such as native_(P103)")
    return _NAMES.get(match["name"], match["name"]), match["pid"]


def _text(blank: Any) -> str:
    if not isinstance(blank, str) or not blank.endswith(BLANK):
        raise ValueError(f"{blank!r} does not end with a blank and `_`")
    return blank.removesuffix(BLANK)


def export(dataset: Path, output: Path) -> int:
    """Writes klob_c, klob_r or klob_u.parquet in the published layout; returns the number of lines.

    Imported examples keep the order of their lines, and escape characters beyond ASCII if their file did;
    others are sorted by id. Raises InputError if `dataset` is no such table.
    """
    if not dataset.is_file() or pq.read_schema(dataset).names != SUBTASK.names:
        raise InputError(f"{dataset}: no table of a KLoB subtask; give klob_c, klob_r or klob_u.parquet")
    rows = pq.read_table(dataset).to_pylist()
    rows.sort(key=lambda row: (row["line"] is None, row["line"] or 0, row["example_id"]))
    account = dataset.with_name("klob_meta.json")
    meta = json.loads(account.read_text(encoding="utf-8")) if account.is_file() else {}
    ascii_only = meta.get("ascii", {}).get(file_name(dataset.stem.removeprefix("klob_")), False)
    with atomic_path(output) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        for record in _records(rows):
            file.write(json.dumps(record, ensure_ascii=ascii_only) + "\n")
    return len(rows)


def _records(rows: Iterable[Row]) -> Iterator[Row | str]:
    for row in rows:
        texts = [sentence["text_blank"] for sentence in row["sentences"]]
        first = f"{row['p1_name']}_({row['p1']})"
        match row["subtask"]:
            case "c":
                yield {"prompts": texts, "knowledge": [row["s_label"], first, row["o1_label"]]}
            case "r":
                single = [row["s_label"], first, row["o1_label"]]
                second = f"{row['p2_name']}_({row['p2']})"
                # The published chains begin in lower case.
                chain = re.sub(r"^The ", "the ", texts[-1]) if row["origin"] != "published" else texts[-1]
                yield {
                    "single_knowledge": single,
                    "knowledge_chain": [*single, second, row["o2_label"]],
                    "single_knowlege_prompts": texts[:-1],
                    "knowlege_chain_prompt": chain,
                }
            case _:
                yield texts[0]
