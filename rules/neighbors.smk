"""Facts about similar entities, and random facts: what an update must leave alone.

Inputs: labelled updates, filtered statements of both dumps.
Outputs: results/{pair}/neighbors.parquet, replacements.parquet, random_neighbors.parquet.
"""


rule nearest_facts:
    """The facts of the entities most similar to each updated subject, exactly."""
    input:
        updates=buckets("results/{pair}/updates/{bucket}.parquet"),
        old=buckets("results/{pair}/filtered/old/{bucket}.parquet"),
        new=buckets("results/{pair}/filtered/new/{bucket}.parquet"),
        entities=entities("old"),
        labels=config["labels"],
        code=code("neighbors"),
    output:
        neighbors="results/{pair}/neighbors.parquet",
    log:
        "logs/{pair}/neighbors.txt",
    benchmark:
        "logs/{pair}/neighbors.tsv"
    resources:
        mem_mb=16000,
    params:
        old_date=OLD,
        variant=config["variant"],
        dates=switches(config)["dates"],
        candidates=config["neighbors"]["entities"],
        facts=config["neighbors"]["facts"],
    shell:
        r"""
        exec &> >(tee {log:q})
        factdrift neighbors search \
            --updates {input.updates:q} \
            --old {input.old:q} \
            --new {input.new:q} \
            --entities {input.entities:q} \
            --labels {input.labels:q} \
            --old-date {params.old_date} \
            --variant {params.variant} \
            --dates {params.dates} \
            --candidates {params.candidates} \
            --facts {params.facts} \
            --output {output.neighbors:q}
        """


rule random_facts:
    """Facts drawn from the neighbours of all replacements."""
    input:
        updates=buckets("results/{pair}/updates/{bucket}.parquet"),
        neighbors="results/{pair}/neighbors.parquet",
        replacements="results/{pair}/replacements.parquet",
        old=buckets("results/{pair}/filtered/old/{bucket}.parquet"),
        new=buckets("results/{pair}/filtered/new/{bucket}.parquet"),
        code=code("neighbors"),
    output:
        neighbors="results/{pair}/random_neighbors.parquet",
    log:
        "logs/{pair}/random_neighbors.txt",
    benchmark:
        "logs/{pair}/random_neighbors.tsv"
    resources:
        mem_mb=16000,
    params:
        variant=config["variant"],
        facts=config["neighbors"]["random"],
        seed=config["seed"],
    shell:
        r"""
        exec &> >(tee {log:q})
        factdrift neighbors random \
            --updates {input.updates:q} \
            --neighbors {input.neighbors:q} \
            --replacements {input.replacements:q} \
            --old {input.old:q} \
            --new {input.new:q} \
            --variant {params.variant} \
            --facts {params.facts} \
            --seed {params.seed} \
            --output {output.neighbors:q}
        """
