"""The explorer of the configured build as files; `factdrift browse` shows the same from a server.

Inputs: the dataset, both snapshots, what filters and rules decided, neighbours, sentences, scores of edits if they have
been built. Output: results/explorer/.
"""


include: "inputs/browse.smk"


rule explorer:
    """A folder of pages to look at a build of up to 20,000 updates, which work from a file or any web server."""
    input:
        manifest=f"{PAIR}/manifest.json",
        tables=[
            f"{PAIR}/{name}"
            for name in (
                *("wikifactdiff.parquet", "funnel.parquet", "templates.parquet", "popularity.parquet"),
                *("neighbors.parquet", "random_neighbors.parquet"),
            )
        ],
        decided=buckets(f"{PAIR}/updates/{{bucket}}.parquet"),
        untouched=buckets(f"{PAIR}/untouched/{{bucket}}.parquet"),
        filtered=[
            path
            for which in ("old", "new")
            for path in buckets(f"{PAIR}/filtered/{which}/{{bucket}}.parquet")
        ],
        entities=[
            path
            for date in (OLD, NEW)
            for path in buckets(f"results/snapshots/{date}/entities/{{bucket}}.parquet")
        ],
        names=[
            f"results/snapshots/{date}/{name}.parquet"
            for date in (OLD, NEW)
            for name in ("properties", "classes")
        ],
        scores=explored_scores,
        layout=explorer_layout(),
    output:
        pages=directory("results/explorer"),
    log:
        "logs/explorer.txt",
    benchmark:
        "logs/explorer.tsv"
    resources:
        **request("explorer"),
    params:
        code=code("explorer"),
        pair=subpath(input.manifest, parent=True),
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift explorer {params.pair:q} --output {output.pages:q}
        """
