"""What the pages of the explorer are made with."""

from factdrift.core.paths import PACKAGE, RESOURCES


def explorer_layout():
    """The templates, style and script of the pages, which no fingerprint covers, and what names mean."""
    folder = PACKAGE / "pages" / "browse" / "templates"
    beside = (PACKAGE / "pages" / "palette.css", RESOURCES / "rules.tsv", RESOURCES / "steps.tsv")
    return sorted(str(path) for path in (*folder.iterdir(), *beside))


def explored_scores(wildcards):
    """The scores of edits, if they are there or asked for in the same run."""
    return [name for name in shown_products(wildcards) if name == "results/edit_scores.parquet"]
