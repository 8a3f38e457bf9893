"""The audit: a sample of the datasets, checked against the dumps by code of its own.

Inputs: both dumps, wikifactdiff.parquet, wfd_repl.parquet, manifest.json and, if they have been built, TempRIPPLE,
KLoB, and the stream with its questions.
"""


include: "inputs/publish.smk"


rule audit:
    """Error rates of the datasets by kind of check, and every failure with its reason."""
    input:
        old_dump=lambda wildcards: dump_file(date_of(wildcards, "old")),
        new_dump=lambda wildcards: dump_file(date_of(wildcards, "new")),
        manifest="results/{pair}/manifest.json",
        kinds=[resource("audit.tsv"), resource("audit_unchecked.tsv")],
        tables=expand("results/{{pair}}/{name}", name=datasets()),
        built=audited_tables,
        beside_=audited_beside,
        labels=config["labels"],
    output:
        findings="results/{pair}/audit/audit.parquet",
        texts=multiext("results/{pair}/audit/audit", ".json", ".txt"),
    params:
        pair=subpath(input.manifest, parent=True),
        output=subpath(output.findings, parent=True),
    shell:
        job("audit")
