"""Where the dumps of a date come from, their shards, and the snapshots that can be asked for."""

from factdrift.core.addresses import is_url


def fetched_entities(date):
    """What `dumps` says of a date whose entities are fetched one by one."""
    source = config["dumps"].get(date) if isinstance(config["dumps"], dict) else None
    if not isinstance(source, dict):
        raise WorkflowError(
            f"configuration: dumps: {date} has no file of entities; add `{date}: {{entities: FILE}}`"
        )
    return source


def own_address(source):
    """The user's own address of a dump or of page views; none where a path or one of our words is given."""
    return source if is_url(source) else []


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


def snapshot_tables(target):
    """All tables of a snapshot, which is asked for as a folder."""
    folder = Path(target)
    tables = [f"{folder}/{table}/{{bucket}}.parquet" for table in ("statements", "entities", "translations")]
    return buckets(tables) + [
        f"{folder}/{name}" for name in ("properties.parquet", "classes.parquet", "snapshot.json")
    ]
