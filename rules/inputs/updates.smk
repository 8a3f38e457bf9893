"""Tables of the pair that several rules read."""


def preprocessed(which):
    """The two tables that the filters make of one bucket of a dump's statements."""
    return [f"results/{{pair}}/{table}/{which}/{{bucket}}.parquet" for table in ("filtered", "kept")]


def other(which):
    """The other side of the comparison."""
    return "old" if which == "new" else "new"


def both_counts(wildcards):
    """The counts of both snapshots, for the job of the new one: whether the dumps fit each other is asked once."""
    if wildcards.which == "old":
        return []
    return [side("snapshot.json", which)(wildcards) for which in ("old", "new")]


def only_classes_tables(wildcards):
    """The classes of both snapshots, where subjects are to be instances of some."""
    if not config["only"]["classes"]:
        return []
    return [side("classes.parquet", which)(wildcards) for which in ("new", "old")]
