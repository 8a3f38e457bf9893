"""What is published: the products that have been built, or are built in the same run, and what describes them."""

from factdrift.core.paths import CARDS, CITATION, DICTIONARY, PRODUCTS
from factdrift.publish.datasets import all_products


def home(product):
    """The folder in which a product is made that is copied to results/."""
    return STREAM if product.made_in == "stream" else PAIR


def made(name):
    """The file of a pair or of the sequence of dates that becomes a product."""
    product = product_of(name)
    return f"{home(product)}/{product.path or name}"


def reports_beside(wildcards):
    """What is made with a product and stays in the folder of the pair, or of the sequence of dates."""
    product = product_of(wildcards.name)
    return [f"{home(product)}/{path}" for path in product.reports]


def published_products(wildcards):
    """The datasets, and whatever else there is of the data sets that can be published."""
    always = [f"results/{name}" for name in datasets()]
    return [*always, *(path for path in built_or_asked(all_products()) if path not in always)]


def published_words():
    """Templates of the cards, the list of products, columns and the citation, which no fingerprint covers."""
    return sorted(str(path) for path in (*CARDS.iterdir(), *DICTIONARY.iterdir(), CITATION, PRODUCTS))


def used_answers():
    """The answers of a chat model that the build uses; none if it uses no chat model."""
    return f"{PAIR}/verbalize/answers.parquet" if config["verbalizer"] == "chat" else []
