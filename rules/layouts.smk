"""The datasets in the layouts of other projects (docs/layouts.md); all by name only.

Inputs: wfd_repl.parquet and shared_objects.parquet of the configured pair; TempRIPPLE's facts and what follows from them.
Outputs: results/layouts/: counterfact.json, easyedit.json, wikibigedit.json, zsre.json, mquake.json.
"""


include: "inputs/layouts.smk"


rule layout:
    """The replacements in the layout of another project."""
    input:
        **layout_tables(),
        dataset=f"{PAIR}/wfd_repl.parquet",
    output:
        "results/layouts/{layout}.json",
    log:
        "logs/layouts/{layout}.txt",
    benchmark:
        "logs/layouts/{layout}.tsv"
    wildcard_constraints:
        layout="|".join(LAYOUT_TABLES),
    resources:
        **request("edit export"),
    params:
        **given("edit export", layout="{layout}"),
    shell:
        job("edit export")


rule layout_mquake:
    """What follows from TempRIPPLE's new facts, in the layout of MQuAKE."""
    input:
        facts=f"{PAIR}/tempripple/tr_facts.parquet",
        related=f"{PAIR}/tempripple/tr_related.parquet",
    output:
        cases="results/layouts/mquake.json",
    log:
        "logs/layouts/mquake.txt",
    benchmark:
        "logs/layouts/mquake.tsv"
    resources:
        **request("tempripple mquake"),
    params:
        code=code("tempripple mquake"),
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift tempripple mquake \
            --facts {input.facts:q} \
            --related {input.related:q} \
            --output {output.cases:q}
        """
