"""What the bundled models are taught besides the facts of the dataset."""

TAUGHT = config["taught"]
"""What is taught besides the dataset's facts."""
if TAUGHT == "auto":
    TAUGHT = ["klob", "tempripple", "ripples"] if config["dumps"] == "sample" else []


def taught_tables(wildcards):
    """Field -> the table of a benchmark whose facts are taught."""
    tables = {"klob": {"klob": ["klob_c", "klob_r"], "wikifactdiff": ["wikifactdiff"]}}
    tables["tempripple"] = {"facts": ["tempripple/tr_facts"], "related": ["tempripple/tr_related"]}
    tables["tempripple"]["wikifactdiff"] = ["wikifactdiff"]
    tables["ripples"] = {"ripples": ["ripples"], "names": ["ripples/names"]}
    return {
        field: [f"results/{wildcards.pair}/{table}.parquet" for table in names]
        for name in TAUGHT
        for field, names in tables[name].items()
    }
