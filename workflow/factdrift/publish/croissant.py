"""Croissant metadata (MLCommons, version 1.1): files with checksums, and every field with its description.

With the fields for responsible use (RAI), which say what the card says. The context is that of the
specification, with the vocabulary of origins (`resources/cards/croissant.json`).
"""

import json
import re
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from factdrift.core.files import read_yaml, sha256, write_json
from factdrift.core.paths import CARDS
from factdrift.publish.card import Edition, Table, bibtex, filled

Node = dict[str, Any]

LICENCES = ["https://creativecommons.org/publicdomain/zero/1.0/", "https://spdx.org/licenses/MIT.html"]
"""Of the facts, and of sentences and selection."""


def write_croissant(this: Edition) -> None:
    """Writes FOLDER/croissant.json: a file set and a record set for each table; paths are relative."""
    dataset, folder = this.dataset, this.folder
    files, sets = [], []
    for table in this.tables:
        for path in sorted(folder.glob(table.pattern.format(split="*"))):
            name = path.relative_to(folder).as_posix()
            files.append(
                {"@type": "cr:FileObject", "@id": name, "name": name, "contentUrl": name}
                | {"encodingFormat": "application/x-parquet", "sha256": sha256(path)}
                | {"contentSize": f"{path.stat().st_size} B"}
            )
        files.append(
            {"@type": "cr:FileSet", "@id": f"{table.name}-files", "name": f"{table.name}-files"}
            | {"encodingFormat": "application/x-parquet", "includes": table.pattern.format(split="*")}
        )
        sets.append(
            {"@type": "cr:RecordSet", "@id": table.name, "name": table.name}
            | {"description": f"{sum(table.rows.values()):,} rows; splits: {', '.join(table.filled)}."}
            | {"field": [_field(table, column) for column in table.schema]}
        )
    metadata = {
        "@context": json.loads((CARDS / "croissant.json").read_text("utf-8")),
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.1",
        "name": this.name,
        "alternateName": f"{dataset.title}, {this.covers}",
        "description": dataset.summary,
        "license": LICENCES,
        "version": this.version,
        **({"datePublished": this.date} if this.date else {}),
        **({"url": this.url} if this.url else {}),
        "citeAs": " ".join(bibtex(this).split()),
        "creator": {"@type": "sc:Organization", "name": "factdrift developers"},
        "temporalCoverage": this.covers,
        "inLanguage": "en",
        "keywords": dataset.tags,
        **_responsible(this),
        "distribution": files,
        "recordSet": sets,
    }
    write_json(metadata, folder / "croissant.json", indent=2)


def _responsible(this: Edition) -> Node:
    """The fields of RAI, and of what the data are made: the dumps, and the program."""
    text = (this.folder / "README.md").read_text("utf-8")
    section = re.search(r"^## How far to trust it\n(.*?)^##", text, re.MULTILINE | re.DOTALL)
    limits = section[1].strip() if section else ""
    templates = read_yaml(CARDS / "rai.yaml")
    texts = {f"rai:{name}": filled(template, this, limits=limits) for name, template in templates.items()}
    dumps = [
        {"@type": "prov:Entity", "name": f"Wikidata of {day}", "url": "https://www.wikidata.org/"}
        for day in sorted({*this.build["dates"].values()})
    ]
    version = this.build["versions"]["factdrift"]
    made_up = bool(this.build["sample"]) or this.build["configuration"].get("verbalizer") == "chat"
    return texts | {
        "rai:hasSyntheticData": made_up,
        "prov:wasDerivedFrom": dumps,
        "prov:wasGeneratedBy": {"@type": "prov:Activity", "name": f"factdrift {version}"},
    }


def _field(table: Table, field: pa.Field) -> Node:
    own = f"{table.name}/{field.name}"
    source = {"fileSet": {"@id": f"{table.name}-files"}, "extract": {"column": field.name}}
    node: Node = {"@type": "cr:Field", "@id": own, "name": field.name}
    node["description"] = table.meanings[field.name]
    inner = _inner(field.type)
    if pa.types.is_list(field.type):
        node["repeated"] = True
    if not pa.types.is_struct(inner):
        return node | {"dataType": _kind(inner), "source": source}
    meanings = table.nested.get(field.name, {})
    node["subField"] = [
        {"@type": "cr:Field", "@id": f"{own}/{path.replace('[*]', '')}", "name": path.replace("[*]", "")}
        | {"description": meanings.get(path.split(".")[0].removesuffix("[*]"), node["description"])}
        | {"dataType": _kind(kind), "source": source | {"transform": {"jsonPath": path}}}
        for path, kind in _leaves(inner)
    ]
    return node


def _leaves(struct: pa.StructType) -> Iterator[tuple[str, pa.DataType]]:
    """Path and type of all that a struct holds, structs and lists of structs in it included."""
    for field in struct:
        inner = _inner(field.type)
        if pa.types.is_struct(inner):
            several = "[*]" if pa.types.is_list(field.type) else ""
            yield from ((f"{field.name}{several}.{path}", kind) for path, kind in _leaves(inner))
        else:
            yield field.name, inner


def _inner(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_list(kind) else kind


def _kind(kind: pa.DataType) -> str:
    if pa.types.is_date(kind):
        return "sc:Date"
    if pa.types.is_integer(kind):
        return "sc:Integer"
    if pa.types.is_floating(kind):
        return "sc:Float"
    return {pa.string(): "sc:Text", pa.bool_(): "sc:Boolean"}[kind]
