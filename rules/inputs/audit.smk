"""What is audited besides the updates."""


def audited_items(wildcards):
    """TempRIPPLE's tables, if they are there or are asked for together with the audit."""
    folder = Path("results", wildcards.pair, "tempripple")
    asked = {str(file) for file in workflow.dag.targetfiles}
    if "results/tempripple.parquet" in asked or (folder / "tr_items.parquet").is_file():
        return [str(folder / f"{name}.parquet") for name in ("tr_items", "tr_facts", "tr_related")]
    return []
