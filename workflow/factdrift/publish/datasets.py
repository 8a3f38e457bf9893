"""Which data sets can be published, as `resources/cards/datasets.yaml` says, and from which products."""

import functools
from collections.abc import Iterable

import msgspec

from factdrift.core.errors import InputError
from factdrift.core.paths import CARDS, PRODUCTS
from factdrift.core.products import places


class Statistic(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A count over the rows; `query` gives a label and a number per row, or one number for each `heading`."""

    title: str
    headings: list[str]
    query: str
    figure: bool = False


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table of a data set; what `datasets.load_dataset(folder, name)` gives."""

    name: str
    splits: list[str] = []
    """The splits of a table with `*`, all of which are written, with or without rows."""
    pages: list[str] = []
    """The pages of docs/tables that describe the columns; as `files`, from the products."""
    files: dict[str, str] = {}
    """Split -> product; with the key `*` the table's own column `split` divides its rows."""
    nested: dict[str, str] = {}
    """Column -> page that describes the fields of what it holds."""


class Dataset(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A data set: one folder. The first of `configs` is loaded where none is named."""

    folder: str
    title: str
    summary: str
    cites: list[str]
    tags: list[str]
    tasks: list[str]
    configs: list[Config]
    statistics: list[Statistic]
    facts: dict[str, str] = {}
    """Name -> query for one value, for the sentences of the card."""
    covers: str = "{{ build.dates.old }}/{{ build.dates.new }}"
    """The day or period (FIRST/LAST) that the rows are about: a template over `facts` and the manifest."""
    accounts: list[str] = []
    """Products with counts that are copied as they are, if they were built; from the products."""
    audited: str = ""
    """The data set of the audit (`audit.json`) whose checks concern these rows."""
    updates: bool = False
    """Whether the rows are updates: the folder has a flat table of them too, and a chat model's answers."""

    @property
    def needed(self) -> list[str]:
        """The products of the first table; any of them is a reason to write the folder."""
        return list(self.configs[0].files.values())

    @property
    def products(self) -> list[str]:
        """All products that the folder is made of, accounts included."""
        return [product for config in self.configs for product in config.files.values()] + self.accounts


@functools.cache
def known() -> tuple[Dataset, ...]:
    """All data sets that can be published, in the order of the file, with their products."""
    path = CARDS / "datasets.yaml"
    try:
        datasets = msgspec.yaml.decode(path.read_bytes(), type=list[Dataset])
    except msgspec.MsgspecError as error:
        raise InputError(f"{path}: {error}") from error
    return tuple(map(_with_products, datasets))


def _with_products(dataset: Dataset) -> Dataset:
    """A data set with the files and pages of its tables, and its accounts.

    Raises InputError if no product is one of its tables.
    """
    files: dict[str, dict[str, str]] = {}
    pages: dict[str, list[str]] = {}
    accounts = []
    for place in places():
        if place.folder == dataset.folder and place.table:
            files.setdefault(place.table, {})[place.split or "*"] = place.name
            pages[place.table] = place.product.pages
        elif place.folder == dataset.folder:
            accounts.append(place.name)
    lacking = [config.name for config in dataset.configs if config.name not in files]
    if lacking:
        raise InputError(f"{PRODUCTS}: no product is published as {dataset.folder}/{lacking[0]}; add one")
    configs = [
        msgspec.structs.replace(config, files=files[config.name], pages=pages[config.name])
        for config in dataset.configs
    ]
    return msgspec.structs.replace(dataset, configs=configs, accounts=accounts)


def all_products() -> list[str]:
    """All products that folders are made of, accounts included, each once."""
    return list(dict.fromkeys(name for dataset in known() for name in dataset.products))


def chosen(names: Iterable[str]) -> list[Dataset]:
    """The data sets whose first table is among these products.

    Raises InputError for a file that is no product, and if there is no such data set.
    """
    products = set(names)
    unknown = sorted(products - set(all_products()))
    if unknown:
        raise InputError(f"{unknown[0]}: is in no data set; those known are {', '.join(all_products())}")
    datasets = [dataset for dataset in known() if products & set(dataset.needed)]
    if not datasets:
        raise InputError(
            "no data set has its first table among the files given; add results/wikifactdiff.parquet"
        )
    return datasets
