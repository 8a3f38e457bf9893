"""Products that have been built, or are built in the same run: what is published, audited and shown of them."""

from factdrift.audit.kinds import OF_DATES
from factdrift.publish.datasets import all_products


def home(product):
    """The folder in which a product is made that is copied to results/."""
    return STREAM if product.made_in == "stream" else PAIR


def made(name):
    """The file of a pair or of the sequence of dates that becomes a product."""
    product = product_of(name)
    return f"{home(product)}/{product.path or name}"


def reports_of(product):
    """What is made with a product and stays in the folder of the pair, or of the sequence of dates."""
    return [f"{home(product)}/{path}" for path in product.reports]


def built_or_asked(names):
    """The products among these that are there or are asked for in the same command, by name or by a rule."""
    asked = {str(file) for file in workflow.dag.targetfiles}
    asked |= {str(file) for rule in workflow.dag.targetrules for file in rule.input}
    there = lambda name: name and (Path("results", name).is_file() or f"results/{name}" in asked)
    # Without the key `stream`, the stream that was built before would be made again of the configured pair.
    of_build = [name for name in names if config["stream"] or product_of(name).made_in != "stream"]
    return [f"results/{name}" for name in of_build if there(name) or there(product_of(name).goes_with)]


def published_products(wildcards):
    """The datasets, and whatever else there is of the data sets that can be published."""
    always = [f"results/{name}" for name in datasets()]
    return [*always, *(path for path in built_or_asked(all_products()) if path not in always)]


def used_answers():
    """The answers of a chat model that the build uses; none if it uses no chat model."""
    return f"{PAIR}/verbalize/answers.parquet" if config["verbalizer"] == "chat" else []


def audited_tables(wildcards):
    """TempRIPPLE's tables and the parts of KLoB, if they have been built or are asked for."""
    folder = Path("results", wildcards.pair)
    files = {
        "tempripple.parquet": [
            f"tempripple/{name}.parquet" for name in ("tr_items", "tr_facts", "tr_related")
        ],
        "ripples.parquet": ["ripples.parquet"],
        **{f"klob_{part}.parquet": [f"klob_{part}.parquet"] for part in "cru"},
    }
    # Products are those of the configured pair.
    asked = lambda product: str(folder) == PAIR and built_or_asked([product])
    built = [names for product, names in files.items() if asked(product) or (folder / names[0]).is_file()]
    return [str(folder / name) for names in built for name in names]


def audited_beside(wildcards):
    """The stream, its questions, its corpus and what is asked of it, of the configured pair."""
    names = [f"{name}.parquet" for name in OF_DATES]
    return built_or_asked(names) if f"results/{wildcards.pair}" == PAIR else []


def shown_products(wildcards):
    """The products that the page shows besides the dataset."""
    return built_or_asked([name for product in products() if product.section for name in product.names])


def page_layout(pages):
    """The templates, styles, scripts and explanations of pages, which no fingerprint covers."""
    shared = PACKAGE / "pages"
    files = [*(shared / pages / "templates").iterdir(), *(shared / "templates").iterdir()]
    files.append(shared / "palette.css")
    return sorted(
        map(str, (*files, *map(resource, ("filters.tsv", "rules.tsv", "steps.tsv", "glossary.tsv"))))
    )
