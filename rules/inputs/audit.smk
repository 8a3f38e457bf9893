"""What the audit checks besides the datasets, as far as it has been built."""


def audited_tables(wildcards):
    """TempRIPPLE's tables and the parts of KLoB, if they have been built or are asked for."""
    folder = Path("results", wildcards.pair)
    parts = {f"klob_{part}.parquet": [f"klob_{part}.parquet"] for part in "cru"}
    ripple = [f"tempripple/{name}.parquet" for name in ("tr_items", "tr_facts", "tr_related")]
    return [
        str(folder / file)
        for product, files in {
            "tempripple.parquet": ripple,
            "ripples.parquet": ["ripples.parquet"],
            **parts,
        }.items()
        if built_or_asked([product]) or (folder / files[0]).is_file()
        for file in files
    ]


def audited_beside(wildcards):
    """The stream, its questions and the files in other layouts, of the configured pair."""
    names = ["stream.parquet", "asof.parquet"]
    names += [f"layouts/{name}.json" for name in (*LAYOUT_TABLES, "mquake")]
    names += [f"{name}.jsonl" for name in ("wikifactdiff", "wfd_repl", "KLoB-c", "KLoB-r", "KLoB-u")]
    return built_or_asked(names) if f"results/{wildcards.pair}" == PAIR else []
