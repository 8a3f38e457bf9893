"""The tables from which layouts of other projects are filled."""

from factdrift.evaluation.layouts.record import LAYOUTS, modules


def layout_tables(wildcards):
    """Field -> the table from which a layout is filled; the dataset, if its records are updates."""
    layout = LAYOUTS[wildcards.layout]
    dataset = {"dataset": "wfd_repl"} if layout.write else {}
    return {field: f"{PAIR}/{name}.parquet" for field, name in {**dataset, **layout.tables}.items()}


def layout_words(wildcards):
    """The tables that ship with the project by which a layout is written."""
    return (
        resource("ripples/rippleedits.tsv")
        if LAYOUTS[wildcards.layout].write
        else resources("tempripple", "words")
    )
