"""What each layout takes from tables beside the dataset."""

LAYOUT_TABLES = {
    "counterfact": {"shared": "shared_objects", "ripples": "ripples"},
    "easyedit": {"facts": "tempripple/tr_facts", "related": "tempripple/tr_related", "ripples": "ripples"},
    "rippleedits": {"ripples": "ripples"},
    "wikibigedit": {"facts": "tempripple/tr_facts", "related": "tempripple/tr_related"},
    "zsre": {},
}
"""Layout -> the tables beside the dataset that it takes something from, by field."""


def layout_tables():
    """The tables beside the dataset that a layout takes something from, as inputs."""

    def table(field):
        def of(wildcards):
            tables = LAYOUT_TABLES[wildcards.layout]
            return f"{PAIR}/{tables[field]}.parquet" if field in tables else []

        return of

    return {field: table(field) for field in ("shared", "facts", "related", "ripples")}
