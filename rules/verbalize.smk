"""Words for facts: sentence templates of the relations, literals as people write them.

Inputs: labelled updates, nearest and random facts, the bundled templates.
Outputs: results/{pair}/templates.parquet, literals.parquet.
"""


rule templates:
    """The bundled templates of each relation that occurs; generic ones, marked so, where there are none."""
    input:
        updates=buckets("results/{pair}/updates/{bucket}.parquet"),
        neighbors="results/{pair}/neighbors.parquet",
        random="results/{pair}/random_neighbors.parquet",
        new=f"results/snapshots/{NEW}/properties.parquet",
        old=f"results/snapshots/{OLD}/properties.parquet",
        labels=config["labels"],
        bundled=resource("templates/templates.tsv"),
        code=code("verbalize", "words"),
    output:
        templates="results/{pair}/templates.parquet",
    log:
        "logs/{pair}/templates.txt",
    benchmark:
        "logs/{pair}/templates.tsv"
    resources:
        mem_mb=2000,
    shell:
        r"""
        exec &> >(tee {log:q})
        factdrift verbalize templates \
            --updates {input.updates:q} \
            --neighbors {input.neighbors:q} {input.random:q} \
            --new {input.new:q} \
            --old {input.old:q} \
            --labels {input.labels:q} \
            --templates {input.bundled:q} \
            --output {output.templates:q}
        """


rule literals:
    """Dates, quantities and texts of the facts, as they stand in a sentence."""
    input:
        updates=buckets("results/{pair}/updates/{bucket}.parquet"),
        neighbors="results/{pair}/neighbors.parquet",
        random="results/{pair}/random_neighbors.parquet",
        new=entities("new"),
        old=entities("old"),
        labels=config["labels"],
        code=code("verbalize", "words"),
    output:
        literals="results/{pair}/literals.parquet",
    log:
        "logs/{pair}/literals.txt",
    benchmark:
        "logs/{pair}/literals.tsv"
    resources:
        mem_mb=4000,
    params:
        variant=config["variant"],
    shell:
        r"""
        exec &> >(tee {log:q})
        factdrift verbalize literals \
            --updates {input.updates:q} \
            --neighbors {input.neighbors:q} {input.random:q} \
            --new {input.new:q} \
            --old {input.old:q} \
            --labels {input.labels:q} \
            --variant {params.variant} \
            --output {output.literals:q}
        """
