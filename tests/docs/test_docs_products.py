"""The pages name products as `resources/products.yaml` has them, which is where a product is added."""

import os
import re
from pathlib import Path

from support.workflow import ROOT

from factdrift.core.paths import DICTIONARY
from factdrift.core.products import Product, product_of, products

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
MARKER, END = "<!-- products -->\n", "<!-- end of products -->\n"
BUILT = {"": "by name", "all": "default"}
FOLDERS = {"pair": "results/<old>_<new>/", "stream": "results/streams/<dates>/"}


def row(product: Product, page: Path) -> str:
    """The line of the list for an entry, as it stands on a page."""

    def link(name: str, folder: Path) -> str:
        return f"[{name}]({os.path.relpath(folder / f'{name}.md', page.parent)})"

    file = f"`{FOLDERS[product.made_in]}{product.path or product.name}`" if product.made_in in FOLDERS else ""
    columns = ", ".join(link(name, DICTIONARY) for name in product.pages)
    built = BUILT.get(product.target, f"`snakemake {product.target}`")
    what = f"{product.what} {link(product.guide, ROOT / 'docs')}" if product.guide else product.what
    return f"| `results/{product.name}` | {built} | {what} | {file} | {columns} |\n".replace("  ", " ")


def listed(page: Path) -> str:
    """The list of products in Markdown."""
    head = "| product | built | what it is | file of a build | columns |\n|---|---|---|---|---|\n"
    return head + "".join(row(product, page) for product in products())


def test_a_list_of_products_is_the_list_of_all() -> None:
    for page in (page for page in PAGES if MARKER in page.read_text("utf-8")):
        text = page.read_text("utf-8").partition(MARKER)[2].partition(END)[0]
        due = listed(page)
        assert text == due, f"{page}: write between {MARKER.strip()} and {END.strip()}\n\n{due}"


def test_the_data_dictionary_has_the_list_and_a_page_for_each_table() -> None:
    assert MARKER in (DICTIONARY / "README.md").read_text("utf-8")
    for product in products():
        assert product.pages or not product.name.endswith(".parquet"), f"{product.name}: name its page"
        assert all((DICTIONARY / f"{page}.md").is_file() for page in product.pages), product.name


def test_files_that_pages_name_are_products() -> None:
    file = re.compile(r"`results/([\w.-]+\.(?:parquet|jsonl?|svg|html|txt))`")
    names = {name for page in PAGES for name in file.findall(page.read_text("utf-8"))}
    assert len(names) > 15
    assert all(product_of(name) for name in names)
