"""Which data sets can be published, as `resources/cards/datasets.yaml` says, and from which products."""

import functools
from typing import Any

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


class Config(msgspec.Struct, forbid_unknown_fields=True):
    """A table of a data set; what `datasets.load_dataset(folder, name)` gives."""

    name: str
    splits: list[str] = []
    """The splits of a table with `*`, all of which are written, with or without rows."""
    open: str = ""
    """The boolean column of a table with `*` that puts a row into the split `open`, not `test`."""
    pages: list[str] = []
    """The pages of docs/tables that describe the columns; as `files`, from the products."""
    files: dict[str, str] = {}
    """Split -> product; with the key `*` the table's own column `split`, or `open`, divides its rows."""
    nested: dict[str, str] = {}
    """Column -> page that describes the fields of what it holds."""


class Dataset(msgspec.Struct, forbid_unknown_fields=True):
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
    evaluation: dict[str, Any] = {}
    """What `eval.yaml` says besides name and description; no such file if no task's table has rows."""
    updates: bool = False
    """Whether the rows are updates: the folder has a flat table of them too, and a chat model's answers."""

    @property
    def tasks_of_hub(self) -> list[dict[str, Any]]:
        """The tasks of `eval.yaml`, under the names by which the hub lists results."""
        tasks: list[dict[str, Any]] = self.evaluation.get("tasks", [])
        return tasks

    @property
    def needed(self) -> list[str]:
        """The products of the first table; any of them is a reason to write the folder."""
        return list(self.configs[0].files.values())


@functools.cache
def known() -> tuple[Dataset, ...]:
    """All data sets that can be published, in the order of the file, with their products.

    Raises InputError if no product is one of the tables of a data set.
    """
    path = CARDS / "datasets.yaml"
    try:
        datasets = msgspec.yaml.decode(path.read_bytes(), type=list[Dataset])
    except msgspec.MsgspecError as error:
        raise InputError(f"{path}: {error}") from error
    for dataset in datasets:
        tables = {config.name: config for config in dataset.configs}
        for target in places():
            if target.folder == dataset.folder and target.table in tables:
                tables[target.table].files[target.split or "*"] = target.name
                tables[target.table].pages = target.product.pages
            elif target.folder == dataset.folder:
                dataset.accounts.append(target.name)
        if lacking := [name for name, config in tables.items() if not config.files]:
            raise InputError(f"{PRODUCTS}: no product is published as {dataset.folder}/{lacking[0]}; add one")
    return tuple(datasets)


def all_products() -> list[str]:
    """All products that folders are made of, accounts included, each once."""
    names: list[str] = []
    for dataset in known():
        names += [name for config in dataset.configs for name in config.files.values()] + dataset.accounts
    return list(dict.fromkeys(names))
