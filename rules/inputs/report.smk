"""What the page shows besides the dataset: what has been built, or is built in the same run."""

from factdrift.core.paths import PACKAGE


def built_or_asked(names):
    """The products among these that are there or are asked for in the same command, by name or by a rule."""
    asked = {str(file) for file in workflow.dag.targetfiles}
    asked |= {str(file) for rule in workflow.dag.targetrules for file in rule.input}
    there = lambda name: name and (Path("results", name).is_file() or f"results/{name}" in asked)
    # Without the key `stream`, the stream that was built before would be made again of the configured pair.
    of_build = [name for name in names if config["stream"] or product_of(name).made_in != "stream"]
    return [f"results/{name}" for name in of_build if there(name) or there(product_of(name).goes_with)]


def shown_products(wildcards):
    """The products that the page shows besides the dataset: what was not built is left out."""
    judged = Path(PAIR, "audit", "judged.json")
    names = [name for product in products() if product.section for name in product.names]
    return [*built_or_asked(names), *([str(judged)] if judged.is_file() else [])]


def shown_stream(wildcards):
    """The table of a sequence of dates, if the page shows one."""
    return [path for path in shown_products(wildcards) if path == "results/stream.parquet"]


def page_layout():
    """The templates, styles and script of the page, which no fingerprint covers."""
    folder = PACKAGE / "pages" / "report" / "templates"
    return sorted(str(path) for path in (*folder.iterdir(), PACKAGE / "pages" / "palette.css"))
