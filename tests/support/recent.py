"""A snapshot behind a SPARQL server with what the Query Service knows beside TempRIPPLE's triples."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import pyarrow.parquet as pq

from factdrift.core import tables
from factdrift.sparql.server import load
from factdrift.sparql.vocabulary import PREFIXES, SCHEMA
from factdrift.tempripple.rdf import write_rdf


def database_with_articles(
    statements: Sequence[Path],
    entities: Sequence[Path],
    properties: Path,
    relations: Iterable[int],
    folder: Path,
) -> Path:
    """The database of a snapshot's RDF, with articles.

    Every item has a German article; the English ones are those of the snapshot.
    """
    folder.mkdir(parents=True, exist_ok=True)
    rdf, beside, database = folder / "rdf.nt", folder / "articles.nt", folder / "database"
    with tables.database() as db:
        write_rdf(db, statements, entities, properties, relations, [], rdf)
    lines = []
    for path in entities:
        for row in pq.read_table(path, columns=["id", "title"]).to_pylist():
            item = f"<{PREFIXES['wd']}Q{row['id']}>"
            for wiki in ("de", "en") if row["title"] is not None else ("de",):
                site = f"https://{wiki}.wikipedia.org/"
                lines.append(f"<{site}wiki/Q{row['id']}> <{SCHEMA}about> {item} .")
                lines.append(f"<{site}wiki/Q{row['id']}> <{SCHEMA}isPartOf> <{site}> .")
    beside.write_text("\n".join(lines) + "\n", encoding="utf-8")
    load([rdf, beside], database)
    return database
