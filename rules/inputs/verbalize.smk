"""Facts to put into words, and where sentence templates come from."""


def neighbor_facts():
    """The nearest and the random facts of a pair."""
    return [f"results/{{pair}}/{kind}.parquet" for kind in ("neighbors", "random_neighbors")]


# The templates that a verbalizer offers besides those of the project.
CANDIDATES = {
    "chat": "results/{pair}/verbalize/candidates.en.parquet",
    "file": "results/{pair}/verbalize/published.parquet",
}
