"""Inputs of the rules of TempRIPPLE: the source of its rows, and its tables."""


def resources(folder):
    """The tables of a folder of resources/ and the table of noun phrases, each of them an input."""
    tables = [str(path) for path in sorted(Path(resource(folder)).glob("*.tsv"))]
    return [*tables, *word_tables()]


def ripple_source():
    """Inputs of the jobs that ask TempRIPPLE's source: tables, the local server's database, or nothing."""
    wanted = config["tempripple"]["source"], config["tempripple"]["endpoint"]
    tables = lambda files: files if wanted[0] == "tables" else []
    return {
        "rows": tables(buckets(f"results/snapshots/{NEW}/tempripple/rows/{{bucket}}.parquet")),
        "classes": tables(buckets(f"results/snapshots/{NEW}/tempripple/classes/{{bucket}}.parquet")),
        "entities": tables(entities("new")),
        "properties": tables(f"results/snapshots/{NEW}/properties.parquet"),
        "database": f"results/snapshots/{NEW}/tempripple/database" if wanted == ("sparql", "local") else [],
    }


def public_endpoint():
    """The server that the rows come from, neither the snapshot's tables nor the local one; `[]` if they do not."""
    source, endpoint = config["tempripple"]["source"], config["tempripple"]["endpoint"]
    return endpoint if source == "sparql" and endpoint != "local" else []


def ripple_answers():
    """The folder that keeps the answers of a public server; `[]` if none is asked."""
    return "results/fetched/sparql" if public_endpoint() else []
