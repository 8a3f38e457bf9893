"""One page about the configured build, for people; what was not built is not on it.

Inputs: the products in results/ and what was made with them. Output: results/report.html.
"""


rule report_page:
    """A page that works offline: what was built from what, what changed, and how it was decided."""
    input:
        manifest=f"{PAIR}/manifest.json",
        tables=[
            f"{PAIR}/{name}"
            for name in (*datasets(), "wikifactdiff.stats.json", "funnel.parquet", "templates.parquet")
        ],
        shown=shown_products,
        stream=shown_stream,
        layout=page_layout(),
    output:
        report(
            "results/report.html",
            caption="caption.rst",
            category=product_of("report.html").category,
            labels={"file": "report.html"},
        ),
    log:
        "logs/report.txt",
    benchmark:
        "logs/report.tsv"
    resources:
        **request("report"),
    params:
        **given(
            "report",
            caption=product_of("report.html").what,
            pair=subpath(input.manifest, parent=True),
        ),
    shell:
        job("report", without="logs memory_mb")
