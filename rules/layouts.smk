"""The datasets in the layouts of other projects (docs/layouts.md); all by name only.

Inputs: wfd_repl.parquet, shared_objects.parquet and ripples.parquet of the configured pair; TempRIPPLE's facts and what
follows from them.
"""

UPDATES = {"dataset": "wfd_repl"}
CHAINS = {"facts": "tempripple/tr_facts", "related": "tempripple/tr_related"}
LAYOUTS = {
    "counterfact": {**UPDATES, "shared": "shared_objects", "ripples": "ripples"},
    "easyedit": {**UPDATES, **CHAINS, "ripples": "ripples"},
    "mquake": CHAINS,
    "rippleedits": {**UPDATES, "ripples": "ripples"},
    "wikibigedit": {**UPDATES, **CHAINS},
    "zsre": UPDATES,
}
"""Layout -> the tables that it is written from, by field."""


rule layout:
    """The replacements, or what follows from TempRIPPLE's new facts, in the layout of another project."""
    input:
        **by_field(
            ["dataset", "shared", "facts", "related", "ripples"],
            lambda wildcards: {
                field: f"{PAIR}/{name}.parquet" for field, name in LAYOUTS[wildcards.layout].items()
            },
        ),
        words=lambda wildcards: (
            resources("tempripple", "words")
            if wildcards.layout == "mquake"
            else resource("ripples/rippleedits.tsv")
        ),
    output:
        "results/layouts/{layout}.json",
    log:
        "logs/layouts/{layout}.txt",
    wildcard_constraints:
        layout="|".join(LAYOUTS),
    shell:
        job("edit export")
