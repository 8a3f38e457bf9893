"""The audit: a sample of the datasets, checked against the dumps by code that shares nothing with the build's.

Inputs: both dumps, wikifactdiff.parquet, wfd_repl.parquet, manifest.json and, if they have been built, TempRIPPLE,
KLoB, the stream with its questions, and the layouts of other projects.
Outputs: results/{pair}/audit/; the configured pair's findings as results/audit.parquet and results/audit.json.
"""

from factdrift.audit.commands import AuditSettings


include: "inputs/audit.smk"


rule audit:
    """Error rates of the datasets by kind of check, and every failure with its reason."""
    input:
        old_dump=dump_file(OLD),
        new_dump=dump_file(NEW),
        dataset="results/{pair}/wikifactdiff.parquet",
        replacements="results/{pair}/wfd_repl.parquet",
        manifest="results/{pair}/manifest.json",
        questions=audited_items,
        examples=audited_examples,
        beside=audited_beside,
        labels=config["labels"],
    output:
        findings="results/{pair}/audit/audit.parquet",
        account="results/{pair}/audit/audit.json",
        text="results/{pair}/audit/audit.txt",
    log:
        "logs/{pair}/audit.txt",
    benchmark:
        "logs/{pair}/audit.tsv"
    resources:
        **request("audit"),
    params:
        code=code("audit"),
        pair=subpath(input.manifest, parent=True),
        folder=subpath(output.findings, parent=True),
        settings=settings_of(config, AuditSettings, "audit"),
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift audit \
            --pair {params.pair:q} \
            --old-dump {input.old_dump:q} \
            --new-dump {input.new_dump:q} \
            --labels {input.labels:q} \
            --beside {input.beside:q} \
            --settings {params.settings:q} \
            --output {params.folder:q}
        """
