"""What the pages of the explorer show, and what they are made with."""

from factdrift.core.paths import PACKAGE, RESOURCES


def explored_tables():
    """The tables of both snapshots and of their comparison."""
    named = [
        *("wikifactdiff.parquet", "funnel.parquet", "templates.parquet"),
        *("popularity.parquet", "neighbors.parquet", "random_neighbors.parquet"),
    ]
    of_pair = ["updates", "untouched", "filtered/old", "filtered/new"]
    of_dates = [f"results/snapshots/{date}" for date in (OLD, NEW)]
    folders = [f"{PAIR}/{name}" for name in of_pair] + [f"{folder}/entities" for folder in of_dates]
    return [
        *(f"{PAIR}/{name}" for name in named),
        *(path for folder in folders for path in buckets(f"{folder}/{{bucket}}.parquet")),
        *(f"{folder}/{name}.parquet" for folder in of_dates for name in ("properties", "classes")),
    ]


def explorer_layout():
    """The templates, style and script of the pages, which no fingerprint covers, and what names mean."""
    folder = PACKAGE / "pages" / "browse" / "templates"
    beside = (PACKAGE / "pages" / "palette.css", RESOURCES / "rules.tsv", RESOURCES / "steps.tsv")
    return sorted(str(path) for path in (*folder.iterdir(), *beside))


def explored_scores(wildcards):
    """The scores of edits, if they are there or asked for in the same run."""
    return [name for name in shown_products(wildcards) if name == "results/edit_scores.parquet"]
