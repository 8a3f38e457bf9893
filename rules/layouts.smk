"""The datasets in the layouts of other projects (docs/layouts.md); all by name only.

Inputs: wfd_repl.parquet, shared_objects.parquet and ripples.parquet of the configured pair; TempRIPPLE's facts and what
follows from them.
"""


rule layout:
    """The replacements, or the chains of TempRIPPLE's new facts, in the layout of another project."""
    input:
        **by_field(["dataset", "shared", "facts", "related", "ripples"], layout_tables),
        words=lambda wildcards: (
            resource("ripples/rippleedits.tsv")
            if LAYOUTS[wildcards.layout].write
            else resources("tempripple", "words")
        ),
    output:
        "results/layouts/{layout}.json",
    wildcard_constraints:
        layout="|".join(LAYOUTS),
    params:
        reads=lambda wildcards: "".join(map(of_module, modules(wildcards.layout))),
    shell:
        job("edit export")
