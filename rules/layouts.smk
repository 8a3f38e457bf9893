"""The datasets in the layouts of other projects (docs/layouts.md); all by name only.

Inputs: wfd_repl.parquet, shared_objects.parquet and ripples.parquet of the configured pair; TempRIPPLE's facts and what
follows from them.
"""

from factdrift.evaluation.layouts.record import LAYOUTS, modules


def layout_tables(wildcards):
    """Field -> the table from which a layout is filled; the dataset, if its records are updates."""
    layout = LAYOUTS[wildcards.layout]
    dataset = {"dataset": "wfd_repl"} if layout.write else {}
    return {field: f"{PAIR}/{name}.parquet" for field, name in {**dataset, **layout.tables}.items()}


def layout_words(wildcards):
    """The tables that ship with the project by which a layout is written."""
    if LAYOUTS[wildcards.layout].write:
        return resource("ripples/rippleedits.tsv")
    return resources("tempripple", "words")


rule layout:
    """The replacements, or the chains of TempRIPPLE's new facts, in the layout of another project."""
    input:
        **by_field(["dataset", "shared", "facts", "related", "ripples"], layout_tables),
        words=layout_words,
    output:
        "results/layouts/{layout}.json",
    wildcard_constraints:
        layout="|".join(LAYOUTS),
    params:
        reads=lambda wildcards: "".join(map(of_module, modules(wildcards.layout))),
    shell:
        job("edit export")
