"""The datasets in the layouts of other projects (docs/layouts.md); all by name only.

Inputs: wfd_repl.parquet, shared_objects.parquet and ripples.parquet of the configured pair; TempRIPPLE's facts and what
follows from them.
"""

LAYOUTS = {
    "counterfact": {"shared": "shared_objects", "ripples": "ripples"},
    "easyedit": {"facts": "tempripple/tr_facts", "related": "tempripple/tr_related", "ripples": "ripples"},
    "rippleedits": {"ripples": "ripples"},
    "wikibigedit": {"facts": "tempripple/tr_facts", "related": "tempripple/tr_related"},
    "zsre": {},
}
"""Layout -> the tables beside the dataset that it takes something from, by field."""


rule layout:
    """The replacements in the layout of another project."""
    input:
        **by_field(
            ["shared", "facts", "related", "ripples"],
            lambda wildcards: {
                field: f"{PAIR}/{name}.parquet" for field, name in LAYOUTS[wildcards.layout].items()
            },
        ),
        dataset=f"{PAIR}/wfd_repl.parquet",
        words=resource("ripples/rippleedits.tsv"),
    output:
        "results/layouts/{layout}.json",
    log:
        "logs/layouts/{layout}.txt",
    wildcard_constraints:
        layout="|".join(LAYOUTS),
    shell:
        job("edit export")


rule layout_mquake:
    """What follows from TempRIPPLE's new facts, in the layout of MQuAKE."""
    input:
        facts=f"{PAIR}/tempripple/tr_facts.parquet",
        related=f"{PAIR}/tempripple/tr_related.parquet",
        resources=resources("tempripple", "words"),
    output:
        "results/layouts/mquake.json",
    log:
        "logs/layouts/mquake.txt",
    shell:
        job("tempripple mquake", without="resources")
