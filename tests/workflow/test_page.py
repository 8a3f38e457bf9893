"""The page about the default build and the explorer, made by their rules, and Snakemake's own report."""

import re
import zipfile

import pytest
import requests
from support.explorer import serving
from support.workflow import snakemake


@pytest.mark.slow
def test_the_page_and_snakemakes_report(built):
    page, tables = "results/report.html", ["results/wfd_repl.parquet", "results/manifest.json"]
    said = snakemake(built, page, jobs=False)
    assert "report_page: 1 of 1 jobs" in (built / "logs/progress.txt").read_text("utf-8")
    assert page in said[said.index("Files written") :]
    assert (built / page).read_text("utf-8").startswith("<!doctype html>")
    snakemake(built, page, *tables, "--report", "report.zip")
    with zipfile.ZipFile(built / "report.zip") as archive:
        names = archive.namelist()
        text = b"".join(archive.read(name) for name in names if name.endswith((".html", ".js"))).decode()
    for part in ("Updates that replace exactly one object", "Dumps with checksums", "on one page", "Dataset"):
        assert part in text
    assert any(name.endswith("wfd_repl.parquet") for name in names)


@pytest.mark.slow
def test_the_explorer(built, tmp_path):
    folder, pair = built / "results" / "explorer", built / "results" / "2021-01-04_2023-02-27"
    snakemake(built, "results/explorer", jobs=False)
    assert "explorer: 1 of 1 jobs" in (built / "logs/progress.txt").read_text("utf-8")
    text = (folder / "Q30.html").read_text("utf-8")
    compared = text[text.index('<details class="relation" open id="P6">') :].partition("</details>")[0]
    first = re.sub(r"<[^>]+>", " ", compared[compared.index("<tbody>") :].partition("</tr>")[0]).split()
    assert " ".join(first) == (
        "Donald Trump preferred rank from 2017-01-20 "
        "Donald Trump from 2017-01-20 to 2021-01-20 "
        "replaced obsolete, in the dataset filter preferred dropped from 2023-02-27 : counts as gone #"
    )
    before = sorted(path for path in built.rglob("*") if ".snakemake" not in path.parts)
    with serving(pair, tmp_path / "index.sqlite") as address:
        assert 'id="P6-title"' in requests.get(f"{address}Q30", timeout=60).text
        assert "Joe Biden" in requests.get(f"{address}search?q=joe+bi&part=1", timeout=60).text
    assert sorted(path for path in built.rglob("*") if ".snakemake" not in path.parts) == before
