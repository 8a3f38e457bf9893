"""What is published: the products that have been built, or are built in the same run, and what describes them."""

from factdrift.core.paths import CARDS, CITATION, DICTIONARY
from factdrift.publish.datasets import products

PUBLISHED = {
    "audit.json": "audit/audit.json",
    "audit.parquet": "audit/audit.parquet",
    "tempripple.parquet": "tempripple/tr_items.parquet",
    "tempripple.stats.json": "tempripple/tr_stats.json",
}
"""Products that have another name in the folder of the pair."""

OF_STREAM = ["stream.parquet", "stream.svg", "asof.parquet", "asof_scores.parquet", "stream_scores.parquet"]
"""Products of the sequence of dates, not of the pair."""

REPORTS = {
    "answer_clozes.parquet": ["answer/clozes.txt"],
    "answer_scores.parquet": ["answer/table2.txt"],
    "audit.parquet": ["audit/audit.txt"],
    "edit_scores.parquet": ["edit/table6.txt"],
    "locate_scores.parquet": ["locate/table_c.txt"],
    "locate_vs_edit.parquet": ["locate/vs_edit.txt"],
    "stream_scores.parquet": ["edit/lifelong.txt"],
    "tempripple.parquet": ["tempripple/tr_stats.json"],
}
"""What is made with a product and stays in the folder of the pair, or of the sequence of dates."""


def home(wildcards):
    """The folder in which a product is made."""
    return STREAM if wildcards.name in OF_STREAM else PAIR


def published_products(wildcards):
    """The datasets, and whatever else there is of the data sets that can be published."""
    always = [f"results/{name}" for name in DATASETS]
    # Without the key `stream`, the stream that was built before would be made again of the configured pair.
    names = [name for name in products() if config["stream"] or name not in OF_STREAM]
    return [*always, *(path for path in built_or_asked(names) if path not in always)]


def published_words():
    """Templates of the cards, descriptions of the columns and the citation, which no fingerprint covers."""
    return sorted(str(path) for path in (*CARDS.iterdir(), *DICTIONARY.iterdir(), CITATION))


def used_answers():
    """The answers of a chat model that the build uses; none if it uses no chat model."""
    return f"{PAIR}/verbalize/answers.parquet" if config["verbalizer"] == "chat" else []
