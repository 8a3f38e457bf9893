"""`factdrift rdf`, `factdrift tempripple load`, `factdrift sparql`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from factdrift.core.errors import InputError

_RDF = """The part of a snapshot that TempRIPPLE queries, as RDF in Wikidata's vocabulary, so that queries run
unchanged here and on the Query Service. All names are written as English, and the values of qualifiers other
than P580, P582 and P585 as unknown: the tables do not hold more of them."""

_FORMATS = {"csv": "text/csv", "json": "application/sparql-results+json"}


def register(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    verbs: argparse._SubParsersAction[argparse.ArgumentParser],
) -> None:
    """`commands`: those of factdrift; `verbs`: those of `factdrift tempripple`."""
    _declare_rdf(commands)
    _declare_load(verbs)
    _declare_sparql(commands)


def _declare_rdf(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    from factdrift.core.paths import TEMPRIPPLE

    verb = commands.add_parser("rdf", help="a snapshot as RDF in Wikidata's vocabulary", description=_RDF)
    verb.add_argument("--statements", type=Path, nargs="+", required=True, help="all buckets")
    verb.add_argument("--entities", type=Path, nargs="+", required=True, help="all buckets")
    verb.add_argument("--properties", type=Path, required=True)
    verb.add_argument(
        "--resources", type=Path, default=TEMPRIPPLE, help="folder of mutable.tsv, immutable.tsv, types.tsv"
    )
    verb.add_argument("-o", "--output", type=Path, required=True, help="N-Triples, .nt or .nt.gz")
    verb.add_argument("--memory-mb", type=int, default=2000)
    verb.add_argument("--threads", type=int, default=1)
    verb.set_defaults(run=_rdf)


def _declare_load(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    verb = verbs.add_parser("load", help="RDF into the database of the local SPARQL server")
    verb.add_argument("rdf", type=Path, nargs="+", help="what `factdrift rdf` wrote")
    verb.add_argument("-o", "--output", type=Path, required=True, help="folder of the database")
    verb.set_defaults(run=_load)


def _declare_sparql(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    verb = commands.add_parser("sparql", help="a SPARQL query of your own to the local server")
    verb.add_argument("query", type=Path, help="a file with SELECT, ASK or CONSTRUCT; - for standard input")
    verb.add_argument(
        "--database", type=Path, help="what `load` made; default: the one under results/snapshots"
    )
    verb.add_argument("--format", choices=["table", *_FORMATS], default="table")
    verb.set_defaults(run=_sparql)


def _rdf(options: argparse.Namespace) -> None:
    from factdrift.tempripple.rdf import write_rdf
    from factdrift.tempripple.resources import Resources

    resources = Resources(options.resources)
    lines = write_rdf(
        options.statements,
        options.entities,
        options.properties,
        resources.properties(),
        [entry.number for entry in resources.relations().types],
        options.output,
        options.memory_mb,
        options.threads,
    )
    print(f"{lines:,} lines of N-Triples")


def _load(options: argparse.Namespace) -> None:
    from factdrift.sparql.server import load

    print(f"{load(options.rdf, options.output):,} triples")


def _sparql(options: argparse.Namespace) -> None:
    from factdrift.sparql.queries import answer, as_table
    from factdrift.sparql.server import serving

    if str(options.query) == "-":
        query = sys.stdin.read()
    elif options.query.is_file():
        query = options.query.read_text(encoding="utf-8")
    else:
        raise InputError(f"{options.query}: no such file; - reads the query from standard input")
    with serving(options.database or _only_database()) as url:
        kind = _FORMATS.get(options.format, _FORMATS["json"])
        kind, text = answer(url, query, kind)
    print(as_table(text) if options.format == "table" and kind == _FORMATS["json"] else text.rstrip("\n"))


def _only_database() -> Path:
    """The only database under results/snapshots. Raises InputError if there is none, or several."""
    found = sorted(Path("results/snapshots").glob("*/tempripple/database"))
    if len(found) != 1:
        raise InputError(
            f"--database: {'several' if found else 'no'} databases under results/snapshots"
            + ("; name one of " + ", ".join(map(str, found)) if found else "")
            + ("" if found else "; make one with `snakemake results/snapshots/DATE/tempripple/database`")
        )
    return found[0]
