"""`factdrift audit`: checks samples of the datasets against the dumps; sheets for people to judge."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import msgspec

from factdrift.core.errors import InputError
from factdrift.core.stage_settings import add_settings, read_settings
from factdrift.wikidata.text import sheet_cell


class AuditSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`--settings` of `audit`; descriptions and defaults are those of `config/config.schema.yaml`."""

    rows: int
    seed: int


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    help_ = "check a sample of the datasets against the dumps, by code that shares nothing with the build's"
    top = commands.add_parser("audit", help=help_, description=help_)
    top.add_argument(
        "--pair",
        type=Path,
        metavar="results/OLD_NEW",
        help="default: that of results/manifest.json, else the only one in results/",
    )
    for which in ("old", "new"):
        top.add_argument(
            f"--{which}-dump", type=Path, metavar="FILE", help="default: the one in results/snapshots/DATE"
        )
    top.add_argument("--labels", type=Path, nargs="*", default=[], help="tables of labels of the build")
    top.add_argument(
        "--beside",
        type=Path,
        nargs="*",
        metavar="PATH",
        help="products outside the pair's folder: stream.parquet, asof.parquet, files of layouts, the "
        "published folders; default: those in results/",
    )
    top.add_argument("-o", "--output", type=Path, metavar="FOLDER", help="default: audit in that of the pair")
    add_settings(top, AuditSettings, "audit")
    top.set_defaults(run=_audit)
    verbs = top.add_subparsers(dest="verb", metavar="[VERB]", required=False)

    verb = verbs.add_parser("sheet", help="write audited rows as CSV, to be judged by hand")
    _audited(verb)
    verb.add_argument("--rows", type=int, default=100, help="(default %(default)s)")
    verb.add_argument("--seed", type=int, default=0)
    verb.add_argument("-o", "--output", type=Path, required=True, metavar="CSV")
    verb.set_defaults(run=_sheet)

    verb = verbs.add_parser("judged", help="print what people judged, and keep it for the page")
    verb.add_argument("sheet", type=Path, metavar="CSV")
    _audited(verb)
    verb.set_defaults(run=_judged)


def _audited(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--audit",
        type=Path,
        metavar="FOLDER",
        help="of an audit; default: that of the pair of dates of results/manifest.json",
    )


def _audit(options: argparse.Namespace) -> None:
    import pyarrow as pa

    from factdrift.audit.account import AUDIT, text_of
    from factdrift.audit.build import Source, audit
    from factdrift.core.owned import claim
    from factdrift.core.tables import write_parquet

    settings = read_settings(options.settings, AuditSettings, "audit")
    pair = options.pair or _pair()
    dumps = {which: getattr(options, f"{which}_dump") or _dump(pair, which) for which in ("old", "new")}
    beside = _beside(pair.parent) if options.beside is None else options.beside
    source = Source(pair, dumps["old"], dumps["new"], options.labels, beside)
    folder = options.output or pair / "audit"
    claim(folder, ("audit.txt", "audit.json", "audit.parquet"))
    findings, summary = audit(source, settings.rows, settings.seed)
    lines = list(text_of(summary, findings))
    _write("\n".join(lines), folder / "audit.txt")
    _write(json.dumps(summary, indent=1, ensure_ascii=False), folder / "audit.json")
    write_parquet(pa.Table.from_pylist(findings, schema=AUDIT), folder / "audit.parquet")
    print("\n".join(lines))


def _write(text: str, output: Path) -> None:
    from factdrift.core.owned import atomic_path

    with atomic_path(output) as path:
        path.write_text(f"{text}\n", encoding="utf-8")


def _sheet(options: argparse.Namespace) -> None:
    import csv

    from factdrift.audit.build import Source
    from factdrift.audit.sheet import COLUMNS, sheet_rows
    from factdrift.core.owned import atomic_path

    folder = options.audit or _pair() / "audit"
    files = Source(folder.parent, Path(), Path()).files()
    rows = list(sheet_rows(_findings(folder), files, options.rows, options.seed))
    with (
        atomic_path(options.output) as path,
        path.open("w", encoding="utf-8-sig", newline="") as file,
    ):
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
    print(f"{options.output}: {len(rows)} rows; write valid, invalid or unsure into the column judgement")


def _cell(value: Any) -> str:
    """A value as a cell: labels come from dumps that anybody can edit."""
    return "" if value is None else sheet_cell(str(value))


def _judged(options: argparse.Namespace) -> None:
    from factdrift.audit.account import judged, judged_text

    folder = options.audit or _pair() / "audit"
    found = judged(options.sheet, _findings(folder))
    _write(json.dumps(found, indent=1, ensure_ascii=False), folder / "judged.json")
    print("\n".join(judged_text(found)))


def _findings(folder: Path) -> list[dict[str, Any]]:
    import pyarrow.parquet as pq

    path = folder / "audit.parquet"
    if not path.is_file():
        raise InputError(f"{path}: no such file; make it with `snakemake --cores all results/audit.parquet`")
    rows: list[dict[str, Any]] = pq.read_table(path).to_pylist()
    return rows


def _beside(results: Path) -> list[Path]:
    """The products outside the pair's folder that have been built."""
    named = [results / "stream.parquet", results / "asof.parquet", results / "publish"]
    copies = (*sorted((results / "layouts").glob("*.json")), *sorted(results.glob("*.jsonl")))
    return [path for path in (*named, *copies) if path.exists()]


def _pair() -> Path:
    """The folder of the pair of dates: that of `results/manifest.json`, else the only one that was built."""
    results = Path("results")
    if (results / "manifest.json").is_file():
        dates = _manifest(results)["dates"]
        return results / f"{dates['old']}_{dates['new']}"
    found = sorted(path.parent for path in results.glob("*_*/wikifactdiff.parquet"))
    if len(found) != 1:
        what = "no build" if not found else f"builds of {', '.join(path.name for path in found)}"
        raise InputError(
            f"{results.absolute()}: {what}; run the command where `make run` was run, or give --pair"
        )
    return found[0]


def _dump(pair: Path, which: str) -> Path:
    """The dump of a date where the workflow puts those that it makes or downloads."""
    manifest = _manifest(pair)
    date = manifest["dates"][which]
    path = Path(pair.parent, "snapshots", date, manifest["dumps"][date]["file"])
    if not path.is_file():
        raise InputError(f"{path}: no such file; give the dump of {date} with --{which}-dump")
    return path


def _manifest(folder: Path) -> dict[str, Any]:
    path = folder / "manifest.json"
    if not path.is_file():
        raise InputError(f"{path}: no such file; build it with `.venv/bin/snakemake --cores all {path}`")
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found
