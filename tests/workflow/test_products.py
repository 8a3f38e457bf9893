"""A product stands in `resources/products.yaml` and in its rule, and nowhere else in the workflow."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.workflow import ROOT, joined, rules_of, snakemake

from factdrift.core import commands
from factdrift.core.commands import program
from factdrift.core.errors import InputError
from factdrift.core.paths import PACKAGE, PRODUCTS
from factdrift.core.products import no_file, places, product_of, products
from factdrift.evaluation.questions.question import records
from factdrift.pages.report.page import SECTIONS
from factdrift.publish.datasets import known

PAIR = "results/2021-01-04_2023-02-27"
ADDED = """
- name: neighbors.parquet
  what: The nearest facts.
  category: Dataset
  pages: [neighbors]
  section: neighbours
"""

OTHER = """
from pathlib import Path
from factdrift.core import products

products.PRODUCTS = Path("products.yaml").resolve()

include: "{root}/Snakefile"
"""


def test_every_product_can_be_planned(tmp_path):
    """All together by name, and each copy from the file that its entry names."""
    chat = {"verbalizer": "chat", "chat": {"model": "NAME"}, "written": {"judge": "unclear"}}
    config = {"languages": ["en", "de"], **chat}
    names = [name for product in products() for name in product.names]
    targets = [f"results/{name}".replace("<language>", "de") for name in names]
    said = joined(snakemake(tmp_path, *targets, "--dry-run", **config))
    for name, target in zip(names, targets, strict=True):
        product = product_of(name.replace("<language>", "de"))
        file = f"/{product.path or name} results/{name}\n".replace("<language>", "de")
        assert re.search(rf"^    output: .*{re.escape(target.rstrip('/'))}(,|$)", said, re.MULTILINE), name
        assert product.made_in == "results" or file in said, name


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("results/wfd_rep.parquet", "; did you mean results/wfd_repl.parquet?"),
        ("scores/edit_scores.parquet", "; build it with `snakemake --cores all results/edit_scores.parquet`"),
        ("funnel.parquet", "; did you mean results/funnel.parquet?"),
        ("results/tempriple.stats.json", "; did you mean results/tempripple.stats.json?"),
        ("results/a b.parquet", ""),
        ("/data/mine.parquet", ""),
        *(
            (path, f"; build it with `snakemake --cores all {path}`")
            for path in (
                *("results/wfd_repl.parquet", "results/klob_r.parquet", "results/explorer"),
                *("results/templates.de.parquet", f"{PAIR}/manifest.json", f"{PAIR}/edit/table6.txt"),
            )
        ),
    ],
)
def test_a_missing_file_names_its_command_or_the_product_that_is_meant(path, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("results").mkdir()
    Path("results/funnel.parquet").touch()
    assert str(no_file(path)) == f"{path}: no such file{said}"
    # In the folder of the environment its programs have their paths.
    monkeypatch.setattr(sys, "executable", str(tmp_path / ".venv/bin/python"))
    monkeypatch.setattr(commands, "program", program)
    assert str(no_file(path)) == f"{path}: no such file{said.replace('`', '`.venv/bin/', 1)}"


def test_targets_in_messages_can_be_planned():
    """Those of products, which are planned above, or the names of rules."""
    code = "\n".join(path.read_text("utf-8") for path in PACKAGE.rglob("*.py"))
    targets = set(re.findall(r"snakemake --cores all (results/\w[\w/.]*|(?!results/)\w+)", code))
    rules = {name for path in (ROOT / "rules").glob("*.smk") for name in rules_of(path.read_text("utf-8"))}
    for target in {*targets, *(record.target for record in records().values())} - rules:
        if not target.startswith("results/snapshots/DATE/"):
            product_of(target.removeprefix("results/"))


def test_every_file_that_a_rule_makes_in_results_is_a_product():
    """But the copies, whose name is a wildcard of all products that are copied."""
    made = [
        name
        for path in (ROOT / "rules").glob("*.smk")
        for body in rules_of(path.read_text("utf-8")).values()
        for name in re.findall(r'"results/([^/"]+)"', body.partition("output:")[2].partition("log:")[0])
    ]
    assert {"{name}", "report.html", "explorer"} <= set(made)
    folders = {product.name.rstrip("/") for product in products() if product.made_in == "results"}
    assert {*made} - {"{name}"} <= folders


def test_an_entry_is_all_that_a_file_of_the_pair_needs(tmp_path):
    shutil.copy(PRODUCTS, tmp_path / "products.yaml")
    with (tmp_path / "products.yaml").open("a", encoding="utf-8") as file:
        file.write(ADDED)
    (tmp_path / "Snakefile").write_text(OTHER.format(root=ROOT), encoding="utf-8")
    line = [sys.executable, "-m", "snakemake", "--cores", "1", "--nocolor", "--dry-run", "--printshellcmds"]
    targets = ["results/neighbors.parquet", "results/report.html"]
    done = subprocess.run([*line, *targets], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    said = joined(done.stdout)
    assert "factdrift publish file results/2021-01-04_2023-02-27/neighbors.parquet " in said
    page = re.search(r"^    input: (.*)\n    output: results/report.html", done.stdout, re.MULTILINE)
    assert page is not None
    assert "results/neighbors.parquet" in page[1].split(", ")


def test_no_name_is_that_of_two_entries():
    names = [name for product in products() for name in product.names]
    assert len(set(names)) == len(names)
    for product in products():
        for name in product.names:
            assert product_of(name.replace("<language>", "de")) is product
        assert not product.goes_with or product_of(product.goes_with)
    with pytest.raises(InputError, match=r"products\.yaml: has no product wfd\.parquet; add an entry"):
        product_of("wfd.parquet")


def test_what_is_published_has_a_card_and_what_is_shown_a_section():
    tables = {(dataset.folder, config.name) for dataset in known() for config in dataset.configs}
    folders = {folder for folder, _ in tables}
    assert {(place.folder, place.table) for place in places() if place.table} == tables
    assert {place.folder for place in places()} == folders
    assert {product.section for product in products()} <= {"", *(name for name, _, _ in SECTIONS)}
