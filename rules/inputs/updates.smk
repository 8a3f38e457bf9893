"""Tables of the pair that several rules read."""


def preprocessed(which):
    """The two tables that the filters make of one bucket of a dump's statements."""
    return [f"results/{{pair}}/{table}/{which}/{{bucket}}.parquet" for table in ("filtered", "kept")]


def other(which):
    """The other side of the comparison."""
    return "old" if which == "new" else "new"


def both_sides(path):
    """A file of the new snapshot and of the old one."""
    return lambda wildcards: [side(path, which)(wildcards) for which in ("new", "old")]
