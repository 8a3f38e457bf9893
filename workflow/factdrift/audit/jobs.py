"""The audit: samples of the datasets checked against the dumps."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import msgspec

from factdrift.core.errors import InputError
from factdrift.core.files import write_json, write_text
from factdrift.core.jobs import Flag, Job, Key, Paths, Place
from factdrift.core.manifests import read_manifest


class AuditSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`--settings` of `audit`; descriptions and defaults are those of `config/config.schema.yaml`."""

    rows: int
    seed: int


class Audit(Job, command="audit", implied_inputs="manifest kinds tables built findings texts"):
    """Check a sample of the datasets against the dumps, with code separate from the build's."""

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
        "products outside the pair's folder: those of the stream, the published folders; "
        "default: those in results/, if they are of the pair",
        Flag("PATH"),
    ] = None
    output: Annotated[Place | None, "default: audit in that of the pair", Flag("FOLDER")] = None
    settings: Annotated[AuditSettings, Key("audit")]

    def run(self) -> str:
        import pyarrow as pa

        from factdrift.audit.account import AUDIT, text_of
        from factdrift.audit.build import audit
        from factdrift.audit.reading import AuditedBuild
        from factdrift.core.owned import claim
        from factdrift.core.tables import write_parquet

        pair = self.pair or _pair()
        folder = self.output or pair / "audit"
        manifest = read_manifest(pair / "manifest.json")
        dumps = [
            Path(pair.parent, "snapshots", date, manifest["dumps"][date]["file"])
            for date in (manifest["dates"][side] for side in ("old", "new"))
        ]
        old, new = self.old_dump or dumps[0], self.new_dump or dumps[1]
        beside = _beside(pair) if self.beside_ is None else self.beside_
        claim(folder, ("audit.txt", "audit.json", "audit.parquet"))
        source = AuditedBuild(pair, old, new, self.labels, beside)
        findings, summary = audit(source, self.settings.rows, self.settings.seed)
        text = "\n".join(text_of(summary, findings))
        write_text(text, folder / "audit.txt")
        write_json(summary, folder / "audit.json")
        write_parquet(pa.Table.from_pylist(findings, schema=AUDIT), folder / "audit.parquet")
        return text


def _beside(pair: Path) -> list[Path]:
    """The products outside the pair's folder that have been built, unless they are made of another pair."""
    from factdrift.audit.kinds import OF_DATES

    results = pair.parent
    made_of = _pair_of_products(results)
    if made_of is not None and made_of.resolve() != pair.resolve():
        print(f"products in {results}: not audited, because they are of {made_of.name}", file=sys.stderr)
        return []
    products = (results / name for name in (*(f"{name}.parquet" for name in OF_DATES), "publish"))
    return [path for path in products if path.exists()]


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
