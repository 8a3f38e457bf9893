"""The shards of a dump, and the snapshots that can be asked for."""


def shards(wildcards):
    """The tables of all shards of a dump."""
    folder = f"results/snapshots/{wildcards.date}"
    return parts(f"{folder}/snapshot.json", f"{folder}/shards/{{part}}-of-{{number}}x{BUCKETS}", SHARDS)


def snapshot_targets():
    """Folders of snapshots that can be asked for: of the configured dates, and those that the command line names.

    While rules are read, Snakemake does not yet know its targets.
    """
    folder = re.compile(r"results/snapshots/\d{4}-\d{2}-\d{2}/?")
    named = {argument for argument in sys.argv[1:] if folder.fullmatch(argument)}
    return sorted(named | {f"results/snapshots/{date}" for date in dates_of(config)})


def tables_of(target):
    """All tables of a snapshot, which is asked for as a folder."""
    folder = str(Path(target))
    return [
        path
        for table in ("statements", "entities", "translations")
        for path in buckets(f"{folder}/{table}/{{bucket}}.parquet")
    ] + [f"{folder}/{name}" for name in ("properties.parquet", "classes.parquet", "snapshot.json")]
