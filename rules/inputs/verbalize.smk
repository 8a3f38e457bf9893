"""Facts to put into words, and where sentence templates come from."""


def neighbor_facts():
    """The nearest and the random facts of a pair."""
    return [f"results/{{pair}}/{kind}.parquet" for kind in ("neighbors", "random_neighbors")]


def candidates():
    """The templates that the verbalizer offers besides those of the project."""
    offered = {"chat": "candidates.en", "file": "published"}.get(config["verbalizer"])
    return f"results/{{pair}}/verbalize/{offered}.parquet" if offered else []
