"""What shows the configured build to people: one page, and the explorer as files.

Inputs: the products in results/ and what was made with them; both snapshots, what filters and rules decided, neighbours
and sentences. What was not built is not shown.
"""


rule report_page:
    """A page that works offline: the sources of the build, the changes, and the decisions behind them."""
    input:
        manifest=f"{PAIR}/manifest.json",
        tables=[
            f"{PAIR}/{name}"
            for name in (*datasets(), "wikifactdiff.stats.json", "funnel.parquet", "templates.parquet")
        ],
        shown=shown_products,
        stream=lambda wildcards: built_or_asked(["stream.parquet"]),
        cutoff=lambda wildcards: built_or_asked(["cutoff.parquet"]),
        layout=page_layout("report"),
    output:
        report(
            "results/report.html",
            caption="caption.rst",
            category=product_of("report.html").category,
            labels={"file": "report.html"},
        ),
    params:
        caption=product_of("report.html").what,
        pair=subpath(input.manifest, parent=True),
    shell:
        job("report")


rule explorer:
    """A folder of pages to look at a build of up to 20,000 updates, which work from a file or any web server."""
    input:
        manifest=f"{PAIR}/manifest.json",
        tables=expand(
            f"{PAIR}/{{name}}.parquet",
            name=["wikifactdiff", "funnel", "templates", "popularity", "neighbors", "random_neighbors"]
            + [
                name
                for part in ("updates", "untouched", "filtered/old", "filtered/new")
                for name in buckets(f"{part}/{{bucket}}")
            ],
        ),
        snapshots=expand(
            "results/snapshots/{date}/{name}.parquet",
            date=[OLD, NEW],
            name=["properties", "classes", *buckets("entities/{bucket}")],
        ),
        scores=lambda wildcards: built_or_asked(["edit_scores.parquet", "ripples.parquet"]),
        layout=page_layout("browse"),
    output:
        directory("results/explorer"),
    params:
        pair=subpath(input.manifest, parent=True),
    shell:
        job("browse")
