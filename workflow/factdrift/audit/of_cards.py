"""Checks of the numbers in published folders: the card's sentences and tables, Croissant, the flat copies.

The numbers are counted from the products, row by row, without the queries by which cards are written.
"""

import csv
import html
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from factdrift.audit.of_tables import differing, records
from factdrift.core.columns import Row
from factdrift.core.files import sha256_of_all

MADE_UP = 900_000_000
"""The number of the first id that the sample's items have where Wikidata's own is not known."""
LONGEST = 20
"""Lines of a card's table of relations or properties."""

Table = dict[str, tuple[int, ...]]


class Numbers(NamedTuple):
    """What the card of a folder must say of its rows."""

    covers: str
    """Day or period, as `temporalCoverage` has it."""
    sentences: dict[str, float]
    """Words of the card with `#` at the number -> the number."""
    tables: dict[str, Table]
    """Title of a table -> label of a line -> its numbers."""


def _summed(rows: Iterable[tuple[str, tuple[int, ...]]]) -> Table:
    """Label -> the sums of the numbers of the rows with that label."""
    sums: Table = {}
    for label, numbers in rows:
        sums[label] = tuple(map(sum, zip(sums.get(label, (0,) * len(numbers)), numbers, strict=True)))
    return sums


def _by_relation(rows: Iterable[Row], of: Callable[[Row], str]) -> Table:
    """Relation -> its rows, and how many different things they are `of`."""
    groups: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        groups[f"{row['relation']['label']} ({row['relation']['id']})"].append(of(row))
    return {relation: (len(things), len(set(things))) for relation, things in groups.items()}


def _of_updates(product: Path, manifest: Row) -> Numbers:
    names = ["subject", "relation", "scenario", "split", "objects", "template_source", "popularity_source"]
    rows = list(records(product, [*names, "neighborhood", "subject_is_ambiguous"]))
    ids = {row["subject"]["id"] for row in rows}
    values = [value for row in rows for value in row["objects"]]
    return Numbers(
        f"{manifest['dates']['old']}/{manifest['dates']['new']}",
        {
            "trust it # updates of": len(rows),
            "updates of # subjects": len(ids),
            "subjects in # relations.": len({row["relation"]["id"] for row in rows}),
            "# updates have prompts from a generic": sum(row["template_source"] == "generic" for row in rows),
            "generic template, # from templates": sum(row["template_source"] == "chat" for row in rows),
            "popularity of # updates": sum(row["popularity_source"] == "sitelinks" for row in rows),
            "# updates have no neighbour facts": sum(not row["neighborhood"] for row in rows),
            "In # updates the subject's name": sum(
                any(value["leaks"] for value in row["objects"]) for row in rows
            ),
            "in # the subject shares its name": sum(row["subject_is_ambiguous"] for row in rows),
            "# subjects have an id from": sum(int(name[1:]) >= MADE_UP for name in ids),
        },
        {
            "Updates by scenario": _summed(
                (row["scenario"], (1, row["split"] == "train", row["split"] == "test")) for row in rows
            ),
            "Updates by relation": _by_relation(rows, lambda row: str(row["subject"]["id"])),
            "Objects by decision": _summed(
                (
                    value["decision"],
                    (1, bool(value["start"] or value["end"] or value["point_in_time"]), not value["id"]),
                )
                for value in values
            ),
            "Objects by rule": _summed((value["rule"], (1,)) for value in values),
        },
    )


def _of_klob(products: Iterable[Path]) -> Numbers:
    rows = [row for path in products for row in records(path)]
    answers: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        if row["subtask"] == "c":
            answers[row["p1"]][row["o1"]] += 1
    most = sum(max(counts.values()) for counts in answers.values())
    named = (row for row in rows if row["subtask"] != "u")
    return Numbers(
        ", ".join(sorted({row["snapshot_id"] for row in rows})),
        {
            "trust it # examples.": len(rows),
            "right for # % of": round(100 * most / (sum(map(Counter.total, answers.values())) or 1), 1),
            "# examples were checked": sum(row["recall_pass"] is not None for row in rows),
        },
        {
            "Examples by subtask": _summed((row["subtask"], (1, len(row["sentences"]))) for row in rows),
            "Examples by relation": _summed(
                (" > ".join(filter(None, (row["p1_name"], row["p2_name"]))), (1,)) for row in named
            ),
        },
    )


def _of_questions(product: Path, manifest: Row) -> Numbers:
    rows = list(records(product))
    related = [row for row in rows if row["hop"]]
    first = manifest["configuration"]["tempripple"]["change_start"]
    return Numbers(
        f"{first}/{max(row['as_of'] for row in rows)}",
        {
            "trust it # items.": len(rows),
            "# items have no options": sum(row["open_only"] for row in rows),
            "# related items have the same": sum(row["discriminates"] is False for row in rows),
            "The # related items": len(related),
            "ask for # different facts": len({(row["asked_s"], row["asked_p"]) for row in related}),
        },
        {
            "Items by task and hop": _summed(
                (
                    f"task {row['task']}, hop {row['hop']}",
                    (1, not row["open_only"], row["discriminates"] is True),
                )
                for row in rows
            ),
            "Items by property asked for": _summed((row["asked_p"], (1,)) for row in rows),
        },
    )


def _of_stream(product: Path) -> Numbers:
    names = ["relation", "scenario", "chain", "link", "reverts", "dated_by", "date", "lag_min"]
    rows = list(records(product, [*names, "old_date", "new_date"]))
    return Numbers(
        f"{min(row['old_date'] for row in rows)}/{max(row['new_date'] for row in rows)}",
        {
            "trust it # updates in": len(rows),
            "in # chains": len({row["chain"] for row in rows}),
            "Of # updates no date": sum(row["date"] is None for row in rows),
            "of # nothing tells": sum(row["lag_min"] is None for row in rows),
        },
        {
            "Updates by interval": _summed(
                (f"{row['old_date']} to {row['new_date']}", (1, row["link"] > 1, bool(row["reverts"])))
                for row in rows
            ),
            "Updates by scenario": _summed((row["scenario"], (1,)) for row in rows),
            "Updates by relation": _by_relation(rows, lambda row: str(row["chain"])),
            "What dates a change": _summed((row["dated_by"] or "interval", (1,)) for row in rows),
        },
    )


def _of_corpus(product: Path) -> Numbers:
    rows = list(records(product))
    chains = defaultdict(set)
    for row in rows:
        chains[row["kind"]].add(row["chain"])
    kinds = _summed((row["kind"], (1, bool(row["stale_answers"]), bool(row["right_docs"]))) for row in rows)
    days = [row["known_at"] for row in rows]
    return Numbers(
        f"{min(days)}/{max(days)}",
        {
            "trust it # questions about": len(rows),
            "questions about # subjects and relations.": len(set().union(*chains.values())),
            "# questions have no right document": sum(not row["right_docs"] for row in rows),
            "# pairs ask the same": len({row["pair"] for row in rows} - {None}),
            "# answers lie in the future": sum(row["announced"] for row in rows),
        },
        {
            "Questions by kind": {kind: (n, len(chains[kind]), *more) for kind, (n, *more) in kinds.items()},
            "Questions by day": _summed((row["asked_on"], (1,)) for row in rows),
        },
    )


def numbers_of(folder: str, results: Path, manifest: Row) -> Numbers | None:
    """What the card of a folder must say; None if a product is not there, or no card is known."""
    parts = {"klob": [f"klob_{part}" for part in "cru"], "corpus": ["corpus_questions"]}
    products = (results / f"{name}.parquet" for name in parts.get(folder, [folder]))
    paths = [path for path in products if path.is_file()]
    match folder if paths else "":
        case "wikifactdiff" | "wfd_repl":
            return _of_updates(paths[0], manifest)
        case "klob":
            return _of_klob(paths)
        case "tempripple":
            return _of_questions(paths[0], manifest)
        case "stream":
            return _of_stream(paths[0])
        case "corpus":
            return _of_corpus(paths[0])
    return None


def card(path: Path, due: Numbers) -> Iterator[str]:
    """Numbers of the card's sentences and tables, and the files that its header gives to `datasets`."""
    text = (path / "README.md").read_text("utf-8")
    flowing = " ".join(text.split())
    for words, number in due.sentences.items():
        match = re.search(re.escape(words).replace(r"\#", r"([\d,.]*\d)"), flowing)
        if match is None or float(match[1].replace(",", "")) != number:
            shown = match[1] if match else "nothing"
            yield f"README.md says {shown} in {words!r}, the rows give {number:,}"
    statistics = text.partition("## Statistics")[2].partition("## Fields")[0]
    for title in set(re.findall(r"^### (.+)$", statistics, re.M)) - due.tables.keys():
        yield f"README.md has a table {title!r} that is not checked"
    for title, counts in due.tables.items():
        longest = LONGEST if title.endswith(("by relation", "asked for")) else len(counts)
        lines = sorted(counts.items(), key=lambda line: (-line[1][0], line[0]))[:longest]
        if (shown := _lines(text, title)) != dict(lines):
            name = next((label for label, number in lines if shown.get(label) != number), "a line too many")
            yield f"README.md: table {title!r} differs from the rows: {name}"
    header = yaml.safe_load(text.split("---\n")[1])
    patterns = [file["path"] for config in header["configs"] for file in config["data_files"]]
    for file in path.rglob("*.parquet"):
        if sum(file in path.glob(pattern) for pattern in patterns) != 1:
            yield f"README.md gives {file.relative_to(path).as_posix()} to no split, or to several"
    yield from (f"README.md names {name}: no such file" for name in patterns if not any(path.glob(name)))
    for figure in path.glob("figures/*"):
        content = figure.read_bytes()
        if not (content.startswith(b"\x89PNG") and content.endswith(b"IEND\xaeB`\x82")):
            yield f"figures/{figure.name} is no whole PNG"
    shown_figures = set(re.findall(r"\]\((figures/[^)]+)\)", text))
    if shown_figures != {f"figures/{figure.name}" for figure in path.glob("figures/*")}:
        yield "README.md does not show the figures that are there"


def _lines(text: str, title: str) -> Table:
    """The lines of a table of the card: label -> numbers."""
    part = text.partition(f"### {title}\n")[2].partition("\n#")[0]
    cells = [re.split(r"(?<!\\)\|", line)[1:-1] for line in part.splitlines() if line.startswith("|")][2:]
    return {_label(first): tuple(int(cell.replace(",", "")) for cell in rest) for first, *rest in cells}


def _label(cell: str) -> str:
    """A label as it is in the rows, without what keeps it from being markup."""
    return re.sub(r"\\(.)", r"\1", html.unescape(cell.strip()).replace("\u2060", ""))


def croissant(path: Path, due: Numbers, manifest: Row) -> Iterator[str]:
    """Name, version, period, files, rows and fields that croissant.json describes."""
    described = json.loads((path / "croissant.json").read_text("utf-8"))
    name = "_".join([path.name, *due.covers.split("/")])
    digits = sha256_of_all(sorted(path.rglob("*.parquet")))[:12]
    program = manifest["versions"]["factdrift"]
    version = f"{program}+{digits}"
    wanted = {"name": name, "version": version, "temporalCoverage": due.covers}
    reasons = differing(described, wanted, "tables and the manifest")
    yield from (f"croissant.json: {reason}" for reason in reasons)
    made = f"factdrift {program}, variant `{manifest['configuration']['variant']}`."
    text = " ".join((path / "README.md").read_text("utf-8").split())
    for words in (made, f"`{name}` {version};"):
        if words not in text:
            yield f"README.md does not say {words!r}"
    entries = {entry["name"]: entry for entry in described["distribution"]}
    for file in path.rglob("*.parquet"):
        listed = file.relative_to(path).as_posix()
        if listed not in entries:
            yield f"croissant.json does not name {listed}"
        elif entries[listed].get("contentSize") != f"{file.stat().st_size} B":
            yield f"croissant.json: another size of {listed}"
    for table in described["recordSet"]:
        files = sorted(path.glob(entries[f"{table['name']}-files"]["includes"]))
        if not files:
            yield f"croissant.json describes {table['name']}, of which there is no file"
            continue
        number = sum(pq.read_metadata(file).num_rows for file in files)
        if not table["description"].startswith(f"{number:,} rows;"):
            yield f"croissant.json: {table['name']} has {number:,} rows, not: {table['description']}"
        schema = pq.read_schema(files[0])
        if [field["name"] for field in table["field"]] != schema.names:
            yield f"croissant.json: the fields of {table['name']} are not its columns"
            continue
        for field in table["field"]:
            for reason in _field(field, schema.field(field["name"]), table["name"]):
                yield f"croissant.json: {table['name']}/{field['name']}: {reason}"


_TYPES = {"string": "sc:Text", "bool": "sc:Boolean", "double": "sc:Float", "date32[day]": "sc:Date"}


def _field(field: Row, column: pa.Field, table: str) -> Iterator[str]:
    """What is wrong with where a field, or its parts, are read from, and with their types."""
    for node in field.get("subField") or [field]:
        source, kind = node["source"], _item(column.type)
        due: Row = {"fileSet": {"@id": f"{table}-files"}, "extract": {"column": column.name}}
        if node is not field:
            due["transform"] = {"jsonPath": (path := source["transform"]["jsonPath"])}
            if path.replace("[*]", "") != node["name"]:
                yield f"{node['name']} is read from {path}"
            for step in node["name"].split("."):
                kind = _item(kind.field(step).type)
        wanted = {"source": due, "dataType": _TYPES.get(str(kind), "sc:Integer")}
        yield from differing(node, wanted, "columns")
    yield from differing(field, {"repeated": pa.types.is_list(column.type) or None}, "columns")


def _item(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_list(kind) else kind


def flat(path: Path, product: Path) -> Iterator[str]:
    """Cells of updates.parquet and updates.csv that are not those of the product's rows, in its order."""
    with (path / "updates.csv").open(encoding="utf-8", newline="") as file:
        lines = csv.DictReader(file)
        tables = records(product), records(path / "updates.parquet"), lines
        for number, (row, cells, line) in enumerate(zip_longest(*tables), 1):
            if row is None or cells is None or line is None:
                yield f"updates.parquet and updates.csv differ from {product.name} in their number of rows"
                return
            due = _flat_row(row)
            columns = sorted(due.keys() | cells.keys())
            wrong = {
                "updates.parquet": [name for name in columns if cells.get(name) != due.get(name)],
                "updates.csv": [name for name in due if not _same(line.get(name), due[name])],
            }
            for copy, names in wrong.items():
                if names:
                    yield f"{copy}: row {number:,}: {', '.join(names)} is not that of {product.name}"
            if any(wrong.values()):
                return  # one row shows it


def _same(cell: str | None, value: Any) -> bool:
    """Whether a cell of the CSV file has a value; an apostrophe keeps spreadsheets from calculating it."""
    if isinstance(value, float):
        return bool(cell) and float(str(cell)) == value
    return cell == (value or "") or bool(value and cell == f"'{value}" and value[0] in "=+-@\t\r'")


def _flat_row(row: Row) -> Row:
    by_decision = {
        decision: [value for value in row["objects"] if value["decision"] == decision]
        for decision in ("obsolete", "new", "static")
    }
    lasting = [value for value in row["objects"] if value["decision"] != "obsolete"]
    cells: Row = {
        "subject_id": row["subject"]["id"],
        "subject": row["subject"]["label"],
        "relation_id": row["relation"]["id"],
        "relation": row["relation"]["label"],
        "static": _cell(value["label"] for value in by_decision["static"]),
        "prompt": row["update_prompt"],
        "popularity": row["subject_popularity"],
        "scenario": row["scenario"],
        "split": row["split"],
    }
    shorts = [value["short"] for value in lasting if value["short"] is not None]
    cells["answers"] = _cell([*(value["label"] for value in lasting), *shorts])
    for name, decision in (("old", "obsolete"), ("new", "new")):
        values = by_decision[decision]
        starts = (own["point_in_time"] if own["start"] is None else own["start"] for own in values)
        cells[name] = _cell(value["label"] for value in values)
        cells[f"{name}_value"] = _cell(value["raw"] for value in values)
        cells[f"{name}_start"] = _cell(starts)
        cells[f"{name}_end"] = _cell(value["end"] for value in values)
    return cells


def _cell(values: Iterable[str | None]) -> str | None:
    texts = [value or "" for value in values]
    return " | ".join(texts) if any(texts) else None
