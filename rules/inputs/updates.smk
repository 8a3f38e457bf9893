"""Files of the snapshot on one side of the comparison."""


def side(path):
    """The snapshot's file for the wildcard `which`."""
    return lambda wildcards: f"results/snapshots/{config['snapshots'][wildcards.which]}/{path}".format(
        **wildcards
    )


def preprocessed(which):
    """The two tables that the filters make of one bucket of a dump's statements."""
    return [f"results/{{pair}}/{table}/{which}/{{bucket}}.parquet" for table in ("filtered", "kept")]
