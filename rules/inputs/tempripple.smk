"""Inputs and options of the rules of TempRIPPLE: the source of its rows, and its tables."""


def resources(folder):
    """The tables of a folder of resources/ and the table of noun phrases, each of them an input."""
    tables = [str(path) for path in sorted(Path(resource(folder)).glob("*.tsv"))]
    return [*tables, *word_tables()]


def ripple_source():
    """Inputs of the jobs that ask TempRIPPLE's source: tables, the local server's database, or nothing."""
    ripple = config["tempripple"]
    if ripple["source"] == "tables":
        return {
            **{
                kind: buckets(f"results/snapshots/{NEW}/tempripple/{kind}/{{bucket}}.parquet")
                for kind in ("rows", "classes")
            },
            "entities": entities("new"),
            "properties": f"results/snapshots/{NEW}/properties.parquet",
        }
    if ripple["endpoint"] == "local":
        return {"database": f"results/snapshots/{NEW}/tempripple/database"}
    return {}


def ripple_source_options(wildcards, input):
    """The options that name the source of the rows."""
    ripple = config["tempripple"]
    named = ["--source", ripple["source"]]
    for key in ripple_source():
        files = getattr(input, key)
        named += [f"--{key}", *([files] if isinstance(files, str) else files)]
    if ripple["source"] == "sparql":
        named += ["--endpoint", ripple["endpoint"]]
        if ripple["endpoint"] != "local":
            named += ["--answers", "results/fetched/sparql"]
    return named


def ripple_origin():
    """The snapshot's description as an input, unless rows come from a public server."""
    ripple = config["tempripple"]
    public = ripple["source"] == "sparql" and ripple["endpoint"] != "local"
    return {} if public else {"snapshot": f"results/snapshots/{NEW}/snapshot.json"}


def ripple_origin_options(wildcards, input):
    """The option that names the snapshot's description, or the public server."""
    snapshot = input.get("snapshot")
    return ["--snapshot", snapshot] if snapshot else ["--endpoint", config["tempripple"]["endpoint"]]
