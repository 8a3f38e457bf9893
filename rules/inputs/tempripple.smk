"""The source of TempRIPPLE's rows."""


def ripple_source():
    """Inputs of the jobs that ask the source: tables, the local server's database, or neither."""
    source, endpoint = config["tempripple"]["source"], config["tempripple"]["endpoint"]
    tables = lambda files: files if source == "tables" else []
    local = source == "sparql" and endpoint == "local"
    return {
        "rows": tables(buckets(f"results/snapshots/{NEW}/tempripple/rows/{{bucket}}.parquet")),
        "classes": tables(buckets(f"results/snapshots/{NEW}/tempripple/classes/{{bucket}}.parquet")),
        "entities": tables(entities("new")),
        "properties": tables(f"results/snapshots/{NEW}/properties.parquet"),
        "database": f"results/snapshots/{NEW}/tempripple/database" if local else [],
        "labels": config["labels"],
        "resources": resources("tempripple"),
    }


def public_endpoint():
    """The server that the rows come from, neither the snapshot's tables nor the local one; `[]` if they do not."""
    source, endpoint = config["tempripple"]["source"], config["tempripple"]["endpoint"]
    return endpoint if source == "sparql" and endpoint != "local" else []
