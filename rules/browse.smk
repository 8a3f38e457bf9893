"""The explorer of the configured build as files; `factdrift browse` shows the same from a server.

Inputs: the dataset, both snapshots, what filters and rules decided, neighbours, sentences, scores of edits if they have
been built. Output: results/explorer/.
"""


include: "inputs/browse.smk"


rule explorer:
    """A folder of pages to look at a build of up to 20,000 updates, which work from a file or any web server."""
    input:
        manifest=f"{PAIR}/manifest.json",
        tables=explored_tables(),
        scores=explored_scores,
        layout=explorer_layout(),
    output:
        directory("results/explorer"),
    log:
        "logs/explorer.txt",
    benchmark:
        "logs/explorer.tsv"
    resources:
        **request("explorer"),
    params:
        **given("explorer", pair=subpath(input.manifest, parent=True)),
    shell:
        job("explorer", without="memory_mb")
