"""Products: files of the configured pair under the short names that users ask for.

Inputs: results/{pair}/. Outputs: results/{name}.
"""


include: "inputs/report.smk"


PUBLISHED = {
    "audit.json": "audit/audit.json",
    "audit.parquet": "audit/audit.parquet",
    "tempripple.parquet": "tempripple/tr_items.parquet",
    "tempripple.stats.json": "tempripple/tr_stats.json",
}
"""Products that have another name in the folder of the pair."""

REPORTS = {
    "answer_clozes.parquet": ["answer/clozes.txt"],
    "answer_scores.parquet": ["answer/table2.txt"],
    "audit.parquet": ["audit/audit.txt"],
    "edit_scores.parquet": ["edit/table6.txt"],
    "locate_scores.parquet": ["locate/table_c.txt"],
    "locate_vs_edit.parquet": ["locate/vs_edit.txt"],
    "tempripple.parquet": ["tempripple/tr_stats.json"],
}
"""What is made with a product and stays in the folder of the pair."""


localrules:
    publish,


rule publish:
    """A product is a copy, whole or not there at all."""
    input:
        source=lambda wildcards: f"{PAIR}/{PUBLISHED.get(wildcards.name, wildcards.name)}",
        report=lambda wildcards: [f"{PAIR}/{report}" for report in REPORTS.get(wildcards.name, [])],
    output:
        report(
            "results/{name}",
            caption="caption.rst",
            category=category,
            labels={"file": "{name}"},
        ),
    log:
        "logs/publish/{name}.txt",
    benchmark:
        "logs/publish/{name}.tsv"
    resources:
        **request("publish"),
    params:
        caption=caption,
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift publish {input.source:q} {output:q}
        """
