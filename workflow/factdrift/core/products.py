"""The products of a build, what people ask for by name under results/: `resources/products.yaml`."""

import difflib
import functools
import os
import re
import shlex
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from factdrift.core.errors import InputError
from factdrift.core.files import identity
from factdrift.core.paths import PRODUCTS

_DATE = r"\d{4}-\d\d-\d\d"


class Product(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A product, or several that differ by a part of their name."""

    name: str
    """Below results/; `{a,b}` has the alternatives of several products, `<language>` is a language's code."""
    what: str
    """What it is, in one sentence: its caption in Snakemake's own report."""
    category: str
    """The category in Snakemake's own report."""
    made_in: Literal["pair", "stream", "results"] = "pair"
    """The folder of the pair of dates or of the sequence, from which it is copied; or results/ itself."""
    path: str = ""
    """Its path in that folder; empty if that is its name."""
    target: str = ""
    """The rule that asks for it, `all` or another; empty if it is built only when it is named."""
    reports: list[str] = []
    """Texts and figures that are made with it, in the folder of the pair or of the sequence."""
    guide: str = ""
    """The page of docs/ about it."""
    pages: list[str] = []
    """Pages of docs/tables that describe its columns or fields."""
    published: list[str] = []
    """Where it goes below results/publish/: FOLDER, as it is; FOLDER/TABLE, divided by its column `split`;
    FOLDER/TABLE/SPLIT, as one split. Alternatives as in `name`."""
    released: bool = False
    """Whether the folders of releases have it."""
    section: str = ""
    """The section that it adds to results/report.html where it was built."""
    goes_with: str = ""
    """The product that it belongs to: whoever has or asks for that one gets both."""

    @property
    def names(self) -> list[str]:
        """The name of each product."""
        return _alternatives(self.name)

    @property
    def pattern(self) -> str:
        """A regular expression that matches the names."""
        return "|".join(map(re.escape, self.names)).replace("<language>", "[a-z-]+")


class Place(NamedTuple):
    """Where a product goes below results/publish/."""

    folder: str
    table: str
    """Empty if the file is copied as it is."""
    split: str
    """Empty if the table's column `split` divides its rows."""
    name: str
    product: Product


@functools.cache
def products() -> tuple[Product, ...]:
    """All products, in the order of the file. Raises InputError if it is not as `Product` says."""
    try:
        return tuple(msgspec.yaml.decode(PRODUCTS.read_bytes(), type=list[Product]))
    except msgspec.MsgspecError as error:
        raise InputError(f"{PRODUCTS}: {error}") from error


def product_of(name: str) -> Product:
    """The entry of a name below results/. Raises InputError if there is none."""
    match = next((product for product in products() if re.fullmatch(product.pattern, name)), None)
    if match is None:
        raise InputError(f"{PRODUCTS}: has no product {name}; add an entry")
    return match


def no_file(path: str | PathLike[str]) -> InputError:
    """The error of a file that is not there.

    It names the command that makes it, if the workflow does, else the product with the most similar name, if
    there is one.
    """
    missing, name = f"{path}: no such file", os.path.relpath(path)
    copies = "|".join(product.pattern.rstrip("/") for product in products())
    beside = [path for product in products() for path in (product.path, *product.reports) if path]
    of_pair = "|".join([copies, *map(re.escape, beside)])
    copy = f"results/{Path(name).name}"
    if re.fullmatch(f"results/({copies})", copy) and not Path(copy).exists():
        name = name if name.startswith("results/") else copy  # of another folder, or without its own
    if re.fullmatch(f"results/({copies}|{_DATE}_{_DATE}/({of_pair}))", name):
        return InputError(f"{missing}; build it with `snakemake --cores all {shlex.quote(name)}`")
    known = [name for product in products() for name in product.names]
    # By what stands before the endings, which would make any two tables similar.
    stems = difflib.get_close_matches(Path(name).stem, [Path(product).stem for product in known], 1, 0.75)
    similar = [candidate for candidate in known if Path(candidate).stem in stems]
    ordered = sorted(similar, key=lambda candidate: Path(candidate).suffix != Path(name).suffix)
    return InputError(f"{missing}; did you mean results/{ordered[0]}?" if ordered else missing)


def pair_of(path: Path) -> str:
    """The pair of dates (OLD_NEW) of a file: of the folder that holds it, or whose file it is a copy of.

    Empty if it is neither in the folder of a pair nor a copy.
    """
    for folder in path.resolve().parents:
        if re.fullmatch(f"{_DATE}_{_DATE}", folder.name):
            return folder.name
    known = (product for product in products() if path.name in product.names and product.made_in == "pair")
    for product in known if path.is_file() else ():
        for folder in sorted(path.parent.glob("????-??-??_????-??-??")):
            original = folder / (product.path or path.name)
            if original.is_file() and identity(original)["digest"] == identity(path)["digest"]:
                return folder.name
    return ""


def of_pair(path: Path) -> str:
    """The pair of dates of a file in words, ` of 2021-01-04 to 2023-02-27`; empty if it is of none."""
    pair = pair_of(path)
    return f" of {pair.replace('_', ' to ')}" if pair else ""


def former_lines(folder: Path, pair: str) -> Iterator[str]:
    """Yields a line for every other pair of dates with its files under short names in a folder of results.

    `pair`: the pair (OLD_NEW) that is not listed; without it there are no lines.
    """
    files: dict[str, list[str]] = {}
    names = (name for product in products() if product.made_in == "pair" for name in product.names)
    for path in map(folder.joinpath, names if pair else ()):
        if path.is_file() and (other := pair_of(path)) not in ("", pair):
            files.setdefault(other, []).append(str(path))
    for other, paths in files.items():
        yield f"Of another pair of dates, {other.replace('_', ' to ')}: {', '.join(paths)}"


def names_for(target: str) -> list[str]:
    """The names that a rule asks for, such as `all`."""
    return [name for product in products() if product.target == target for name in product.names]


def datasets() -> list[str]:
    """The tables of updates that are built by default."""
    tables = [name for name in names_for("all") if name.endswith(".parquet")]
    return [name for name in tables if product_of(name).category == "Dataset"]


def places() -> Iterator[Place]:
    """Where products go below results/publish/, in the order of the file."""
    for product in products():
        for published in product.published:
            for name, place in zip(product.names, _alternatives(published), strict=True):
                folder, table, split = (*place.split("/"), "", "")[:3]
                yield Place(folder, table, split, name, product)


def _alternatives(text: str) -> list[str]:
    """`a{b,c}` as `ab` and `ac`; a text without braces as it is."""
    before, _, rest = text.partition("{")
    inside, _, after = rest.partition("}")
    return [f"{before}{part}{after}" for part in inside.split(",")]
