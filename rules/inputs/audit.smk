"""What is audited besides the updates: what has been built, or is built in the same run."""

_PARTS = [f"klob_{part}.parquet" for part in "cru"]
_RIPPLE = ["tr_items", "tr_facts", "tr_related"]


def _asked(name):
    """Whether a product in results/ is there, or is asked for together with the audit by name or by a rule."""
    asked = {str(file) for file in workflow.dag.targetfiles}
    asked |= {str(file) for rule in workflow.dag.targetrules for file in rule.input}
    return Path("results", name).is_file() or f"results/{name}" in asked


def audited_items(wildcards):
    """TempRIPPLE's tables."""
    folder = Path("results", wildcards.pair, "tempripple")
    if _asked("tempripple.parquet") or (folder / "tr_items.parquet").is_file():
        return [str(folder / f"{name}.parquet") for name in _RIPPLE]
    return []


def audited_examples(wildcards):
    """The parts of KLoB."""
    folder = Path("results", wildcards.pair)
    return [str(folder / name) for name in _PARTS if _asked(name) or (folder / name).is_file()]


def audited_beside(wildcards):
    """The stream, its questions and the files in other layouts, of the configured pair.

    Without the key `stream`, the stream that was built before would be made again of the configured pair.
    """
    if f"results/{wildcards.pair}" != PAIR:
        return []
    names = ["stream.parquet", "asof.parquet"] if config["stream"] else []
    names += [f"layouts/{name}.json" for name in (*LAYOUT_TABLES, "mquake")]
    names += [f"{name}.jsonl" for name in ("wikifactdiff", "wfd_repl", "KLoB-c", "KLoB-r", "KLoB-u")]
    return [f"results/{name}" for name in names if _asked(name)]
