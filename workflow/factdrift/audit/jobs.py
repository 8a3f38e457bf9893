"""The audit: samples of the datasets checked against the dumps, and sheets for people to judge."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import msgspec

from factdrift.core.errors import InputError
from factdrift.core.files import write_json, write_text
from factdrift.core.jobs import Flag, Job, Key, Output, Paths, Place
from factdrift.core.manifests import read_manifest
from factdrift.core.products import no_file, products
from factdrift.wikidata.text import sheet_cell


class AuditSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`--settings` of `audit`; descriptions and defaults are those of `config/config.schema.yaml`."""

    rows: int
    seed: int


class Audit(Job, command="audit", implied_inputs="manifest kinds tables built findings texts"):
    """Check a sample of the datasets against the dumps, by code that shares nothing with the build's."""

    pair: Annotated[
        Place | None,
        "default: that of results/manifest.json, else the only one in results/",
        Flag("results/OLD_NEW"),
    ] = None
    old_dump: Annotated[Path | None, "default: the one in results/snapshots/DATE", Flag("FILE")] = None
    new_dump: Annotated[Path | None, "default: the one in results/snapshots/DATE", Flag("FILE")] = None
    labels: Annotated[Paths, "tables of labels of the build"] = ()
    beside_: Annotated[
        Paths | None,
        "products outside the pair's folder: stream.parquet, asof.parquet, files of layouts, the "
        "published folders; default: those in results/, if they are of the pair",
        Flag("PATH"),
    ] = None
    output: Annotated[Place | None, "default: audit in that of the pair", Flag("FOLDER")] = None
    settings: Annotated[AuditSettings, Key("audit")]

    def run(self) -> str:
        import pyarrow as pa

        from factdrift.audit.account import AUDIT, text_of
        from factdrift.audit.build import audit
        from factdrift.audit.reading import Source
        from factdrift.core.owned import claim
        from factdrift.core.tables import write_parquet

        pair = self.pair or _pair()
        manifest = read_manifest(pair / "manifest.json")
        dumps = [
            Path(pair.parent, "snapshots", date, manifest["dumps"][date]["file"])
            for date in (manifest["dates"][side] for side in ("old", "new"))
        ]
        old, new = self.old_dump or dumps[0], self.new_dump or dumps[1]
        beside = _beside(pair) if self.beside_ is None else self.beside_
        folder = self.output or pair / "audit"
        claim(folder, ("audit.txt", "audit.json", "audit.parquet"))
        source = Source(pair, old, new, self.labels, beside)
        findings, summary = audit(source, self.settings.rows, self.settings.seed)
        text = "\n".join(text_of(summary, findings))
        write_text(text, folder / "audit.txt")
        write_json(summary, folder / "audit.json")
        write_parquet(pa.Table.from_pylist(findings, schema=AUDIT), folder / "audit.parquet")
        return text


class OfAudit(Job):
    """A job for what an audit found."""

    audit: Annotated[
        Path | None,
        "of an audit; default: that of the pair of dates of results/manifest.json",
        Flag("FOLDER"),
    ] = None

    @property
    def folder(self) -> Path:
        return self.audit or _pair() / "audit"

    def findings(self) -> list[dict[str, Any]]:
        """The rows of audit.parquet. Raises InputError if it is not there."""
        import pyarrow.parquet as pq

        path = self.folder / "audit.parquet"
        if not path.is_file():
            raise no_file(path)
        rows: list[dict[str, Any]] = pq.read_table(path).to_pylist()
        return rows


class Sheet(OfAudit, command="audit sheet"):
    """Write audited rows as CSV, to be judged by hand.

    For example: factdrift audit sheet --rows 50 --output sheet.csv
    """

    rows: int = 100
    seed: int = 0
    output: Annotated[Output, Flag("CSV")]

    def run(self) -> str:
        import csv

        from factdrift.audit.kinds import UPDATES
        from factdrift.audit.reading import Source
        from factdrift.audit.sheet import COLUMNS, is_blank, sheet_rows
        from factdrift.core.owned import atomic_path, check_unchanged

        check_unchanged(self.output, is_blank)
        files = Source(self.folder.parent, Path(), Path()).files()
        if UPDATES not in files:
            raise InputError(
                f"{self.folder.parent / 'wikifactdiff.parquet'}: no such file; the rows of a sheet are read "
                "beside the folder of the audit: name one in the folder of its pair with --audit"
            )
        rows = list(sheet_rows(self.findings(), files, self.rows, self.seed))
        with atomic_path(self.output) as path, path.open("w", encoding="utf-8-sig", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(COLUMNS)
            # Labels come from dumps that anybody can edit.
            writer.writerows([sheet_cell(str(row.get(name) or "")) for name in COLUMNS] for row in rows)
        return f"{self.output}: {len(rows)} rows; write valid, invalid or unsure into the column judgement"


class Judged(OfAudit, command="audit judged"):
    """Print what people judged, and keep it for the page.

    For example: factdrift audit judged sheet.csv
    """

    sheet: Annotated[Path, Flag("CSV", positional=True)]

    def run(self) -> str:
        from factdrift.audit.sheet import judged, judged_text

        account = judged(self.sheet, self.findings())
        write_json(account, self.folder / "judged.json")
        return "\n".join(judged_text(account))


def _beside(pair: Path) -> list[Path]:
    """The products outside the pair's folder that have been built, unless they are made of another pair."""
    results = pair.parent
    made_of = _pair_of_products(results)
    if made_of is not None and made_of.resolve() != pair.resolve():
        print(f"products in {results}: not audited, because they are of {made_of.name}", file=sys.stderr)
        return []
    named = [results / "stream.parquet", results / "asof.parquet", results / "publish"]
    known = [results / name for product in products() for name in product.names]
    copies = [path for path in known if path.suffix == ".jsonl" or path.parent.name == "layouts"]
    return [path for path in (*named, *copies) if path.exists()]


def _pair() -> Path:
    """The folder of the pair of dates: that of `results/manifest.json`, else the only one that was built."""
    results = Path("results")
    if (made_of := _pair_of_products(results)) is not None:
        return made_of
    built = sorted(path.parent for path in results.glob("*_*/wikifactdiff.parquet"))
    if len(built) != 1:
        what = "no build" if not built else f"builds of {', '.join(path.name for path in built)}"
        raise InputError(
            f"{results.absolute()}: {what}; run the command where `make run` was run, or give --pair"
        )
    return built[0]


def _pair_of_products(results: Path) -> Path | None:
    """The folder of the pair that the products in `results` are of, by their manifest; None without one."""
    if not (results / "manifest.json").is_file():
        return None
    dates = read_manifest(results / "manifest.json")["dates"]
    return results / f"{dates['old']}_{dates['new']}"
