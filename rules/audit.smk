"""The audit: a sample of the datasets, checked against the dumps by code that shares nothing with the build's.

Inputs: both dumps, wikifactdiff.parquet, wfd_repl.parquet, manifest.json and, if they have been built, TempRIPPLE,
KLoB, the stream with its questions, and the layouts of other projects.
Outputs: results/{pair}/audit/; the configured pair's findings as results/audit.parquet and results/audit.json.
"""


def audited_tables(wildcards):
    """TempRIPPLE's tables and the parts of KLoB, if they have been built or are asked for."""
    folder = Path("results", wildcards.pair)
    parts = {f"klob_{part}.parquet": [f"klob_{part}.parquet"] for part in "cru"}
    ripple = [f"tempripple/{name}.parquet" for name in ("tr_items", "tr_facts", "tr_related")]
    return [
        str(folder / file)
        for product, files in {"tempripple.parquet": ripple, **parts}.items()
        if built_or_asked([product]) or (folder / files[0]).is_file()
        for file in files
    ]


def audited_beside(wildcards):
    """The stream, its questions and the files in other layouts, of the configured pair."""
    names = ["stream.parquet", "asof.parquet"]
    names += [f"layouts/{name}.json" for name in (*LAYOUT_TABLES, "mquake")]
    names += [f"{name}.jsonl" for name in ("wikifactdiff", "wfd_repl", "KLoB-c", "KLoB-r", "KLoB-u")]
    return built_or_asked(names) if f"results/{wildcards.pair}" == PAIR else []


rule audit:
    """Error rates of the datasets by kind of check, and every failure with its reason."""
    input:
        old_dump=dump_file(OLD),
        new_dump=dump_file(NEW),
        manifest="results/{pair}/manifest.json",
        kinds=resource("audit.tsv"),
        tables=expand("results/{{pair}}/{name}", name=datasets()),
        built=audited_tables,
        beside_=audited_beside,
        labels=config["labels"],
    output:
        findings="results/{pair}/audit/audit.parquet",
        texts=multiext("results/{pair}/audit/audit", ".json", ".txt"),
    log:
        "logs/{pair}/audit.txt",
    benchmark:
        "logs/{pair}/audit.tsv"
    resources:
        **request("audit"),
    params:
        **given(
            "audit",
            pair=subpath(input.manifest, parent=True),
            output=subpath(output.findings, parent=True),
        ),
    shell:
        job("audit")
