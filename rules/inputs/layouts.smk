"""What each layout takes from tables beside the dataset."""

LAYOUT_TABLES = {
    "counterfact": {"--shared": "shared_objects"},
    "easyedit": {"--facts": "tempripple/tr_facts", "--related": "tempripple/tr_related"},
    "wikibigedit": {"--facts": "tempripple/tr_facts", "--related": "tempripple/tr_related"},
    "zsre": {},
}
"""Layout -> the tables beside the dataset that it takes something from, by option."""


def layout_tables(wildcards):
    """The tables beside the dataset that a layout takes something from."""
    return [f"{PAIR}/{name}.parquet" for name in LAYOUT_TABLES[wildcards.layout].values()]
