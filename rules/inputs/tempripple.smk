"""The source of TempRIPPLE's rows."""


def ripple_source():
    """Inputs of the jobs that ask the source: tables, the local server's database, or neither."""
    source, endpoint = config["tempripple"]["source"], config["tempripple"]["endpoint"]
    tables = lambda files: files if source == "tables" else []
    local = source == "sparql" and endpoint == "local"
    return {
        "rows": tables(side_buckets("tempripple/rows", "new")),
        "classes": tables(side_buckets("tempripple/classes", "new")),
        "entities": tables(side_buckets("entities", "new")),
        "properties": tables(side("properties.parquet", "new")),
        "database": side("tempripple/database", "new") if local else [],
        "labels": config["labels"],
        "resources": resources("tempripple", "words"),
    }


def public_endpoint():
    """The server that the rows come from, neither the snapshot's tables nor the local one; `[]` if they do not."""
    source, endpoint = config["tempripple"]["source"], config["tempripple"]["endpoint"]
    return endpoint if source == "sparql" and endpoint != "local" else []
