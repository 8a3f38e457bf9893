"""What is audited besides the updates: what has been built, or is built in the same run."""

_PARTS = [f"klob_{part}.parquet" for part in "cru"]
_RIPPLE = ["tr_items", "tr_facts", "tr_related"]


def audited_items(wildcards):
    """TempRIPPLE's tables."""
    folder = Path("results", wildcards.pair, "tempripple")
    if built_or_asked(["tempripple.parquet"]) or (folder / "tr_items.parquet").is_file():
        return [str(folder / f"{name}.parquet") for name in _RIPPLE]
    return []


def audited_examples(wildcards):
    """The parts of KLoB."""
    folder = Path("results", wildcards.pair)
    return [str(folder / name) for name in _PARTS if built_or_asked([name]) or (folder / name).is_file()]


def audited_beside(wildcards):
    """The stream, its questions and the files in other layouts, of the configured pair."""
    if f"results/{wildcards.pair}" != PAIR:
        return []
    names = ["stream.parquet", "asof.parquet"]
    names += [f"layouts/{name}.json" for name in (*LAYOUT_TABLES, "mquake")]
    names += [f"{name}.jsonl" for name in ("wikifactdiff", "wfd_repl", "KLoB-c", "KLoB-r", "KLoB-u")]
    return built_or_asked(names)
