"""The page about the default build, made by its rule, and Snakemake's own report of the results."""

from __future__ import annotations

import zipfile
from pathlib import Path

from support.workflow import snakemake


def test_the_page_and_snakemakes_report(built: Path) -> None:
    page, tables = "results/report.html", ["results/wfd_repl.parquet", "results/manifest.json"]
    said = snakemake(built, page, jobs=False)
    assert "progress: report_page: 1 of 1 jobs" in said
    assert page in said[said.index("Files written") :]
    assert (built / page).read_text("utf-8").startswith("<!doctype html>")
    assert "Nothing to be done" in snakemake(built, page)
    snakemake(built, page, *tables, "--report", "report.zip")
    with zipfile.ZipFile(built / "report.zip") as archive:
        names = archive.namelist()
        text = b"".join(archive.read(name) for name in names if name.endswith((".html", ".js"))).decode()
    for part in ("Updates that replace exactly one object", "Dumps with checksums", "on one page", "Dataset"):
        assert part in text
    assert any(name.endswith("wfd_repl.parquet") for name in names)
