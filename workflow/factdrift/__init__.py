"""factdrift: what changed in the world between two Wikidata dumps, as benchmarks for language models."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from factdrift.core.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["__version__", "changes", "load", "scores", "show", "timeline"]


def __getattr__(name: str) -> Any:
    """`factdrift.__version__`, which is read when it is asked for: most commands do not need it."""
    if name == "__version__":
        from importlib.metadata import version

        return version("factdrift")
    raise AttributeError(f"module 'factdrift' has no attribute {name!r}; it has {', '.join(__all__)}")


def __dir__() -> list[str]:
    """The public names: imports of this module are none."""
    return __all__


def load(path: str | PathLike[str]) -> pd.DataFrame:
    """A result table as a DataFrame; structs become dicts, lists of them lists of dicts.

    >>> load("results/wfd_repl.parquet")["objects"][0][0]["label"]
    'Angela Merkel'

    Raises InputError if there is no such file, or if it is no Parquet table.
    """
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq

    from factdrift.core.products import no_file

    if Path(path).is_dir():
        held = ", ".join(sorted(each.name for each in Path(path).glob("*.parquet"))[:8])
        raise InputError(f"{path}: is a folder; name one of its tables{': ' + held if held else ''}")
    if not Path(path).is_file():
        raise no_file(path)
    try:
        table = pq.read_table(path)
    except pa.ArrowInvalid as error:
        raise InputError(
            f"{path}: is no Parquet table; read JSON with pandas.read_json(path, lines=True) or json.load"
        ) from error
    return pd.DataFrame(
        {
            name: pd.Series(column.to_pylist(), dtype=object)
            if pa.types.is_nested(column.type)
            else column.to_pandas()
            for name, column in zip(table.column_names, table.columns, strict=True)
        }
    )


def changes(
    dataset: str | PathLike[str] | None = None, *, search: str | None = None, relation: str | None = None
) -> pd.DataFrame:
    """The updates of a dataset, the most popular first: one row each, with names instead of dicts.

    `dataset`: by default results/wikifactdiff.parquet, else results/wfd_repl.parquet. `search`: text in the
    name of the subject or of an object. `relation`: its id, or text in its name. Columns: `subject_id`,
    `subject`, `relation_id`, `relation`, `scenario`, `obsolete` and `new` (lists of names).

    >>> found = changes("results/wfd_repl.parquet", relation="head of government")
    >>> found.loc[0, ["subject", "obsolete", "new"]].tolist()
    ['Germany', ['Angela Merkel'], ['Olaf Scholz']]

    Raises InputError if there is no such dataset.
    """
    import pandas as pd

    from factdrift.wikifactdiff import show

    path = show.default_dataset() if dataset is None else Path(dataset)
    records, _ = show.search(path, show.Wanted(search, relation), None)
    rows = [
        {
            "subject_id": each["subject"]["id"],
            "subject": each["subject"]["label"],
            "relation_id": each["relation"]["id"],
            "relation": each["relation"]["label"],
            "scenario": each["scenario"],
            **{
                decision: [value["label"] for value in each["objects"] if value["decision"] == decision]
                for decision in ("obsolete", "new")
            },
        }
        for each in records
    ]
    columns = ["subject_id", "subject", "relation_id", "relation", "scenario", "obsolete", "new"]
    return pd.DataFrame(rows, columns=columns)


def timeline(subject: str, relation: str, pair: str | PathLike[str] | None = None) -> pd.DataFrame:
    """What both dumps of a build say about a subject and relation (ids or names), changed or not.

    `pair`: the folder of the pair of dates; by default the newest in results/. One row for each statement,
    what changed first. Columns: `value`, `id` (None for literals), `old` and `new` (whether that dump states
    it), `start`, `end`, `point_in_time` (text, from the newest dump that states it), `rank`, and `decided`,
    the filters and rules that decided.

    >>> found = timeline("Germany", "head of government")
    >>> found.loc[:1, ["value", "old", "new", "start", "end"]].values.tolist()[0]
    ['Angela Merkel', True, True, '2005-11-22', '2021-12-08']
    >>> found.loc[1, "decided"]
    ['replaced_from']

    Raises InputError if nothing, or more than one thing, is called so.
    """
    import pandas as pd

    from factdrift.core.tables import database
    from factdrift.pages.browse.build import Build
    from factdrift.pages.browse.index import index_of
    from factdrift.pages.browse.search import Index
    from factdrift.pages.browse.why import Reasons

    build = Build.of(Path(pair) if pair else None)
    with database() as db:
        pairs = Reasons(build, Index(index_of(build)), db).statements(subject, relation)
    rows = []
    for row in pairs:
        stated = row.latest
        dates = dict(stated.dates)
        rows.append(
            {
                "value": stated.value.text,
                "id": stated.value.id,
                "old": row.old is not None,
                "new": row.new is not None,
                "start": dates.get("from"),
                "end": dates.get("to"),
                "point_in_time": dates.get("at"),
                "rank": stated.rank,
                "decided": [decision.name for decision in row.decisions],
            }
        )
    columns = ["value", "id", "old", "new", "start", "end", "point_in_time", "rank", "decided"]
    return pd.DataFrame(rows, columns=columns, dtype=object)


def scores(path: str | PathLike[str] = "results/edit_scores.parquet") -> pd.DataFrame:
    """The scores of edits: one row for each edit, method and model, as docs/tables/edit_scores.md says.

    >>> scores().groupby("method")["efficacy_s"].mean()  # doctest: +SKIP

    Raises InputError that names the command if they have not been built.
    """
    return load(path)


def show(subject: str, relation: str | None = None, dataset: str | PathLike[str] | None = None) -> None:
    """Prints the updates of a subject (ids or names), as `factdrift show` does.

    >>> show("Germany", "head of government")
    Germany (Q183): country in Central Europe
    popularity ... (sitelinks), train split
    <BLANKLINE>
    head of government (P6): ReplaceObject
    ...

    Raises InputError if there is none.
    """
    import sys

    from factdrift.wikifactdiff.show import default_dataset, find, lines

    path = default_dataset() if dataset is None else Path(dataset)
    print("\n".join(lines(find(path, subject, relation, None), sys.stdout)))
