"""Facts that an edit must not change: those of similar entities, and random ones.

Inputs: labelled updates, filtered statements of both dumps.
Outputs: results/{pair}/neighbors/space, neighbors/holding/{bucket}.parquet, neighbors/{part}.parquet, neighbors.parquet, replacements.parquet, random_neighbors.parquet;
by name only: neighbors/{obsolete,new}_objects.parquet.
"""

from factdrift.core.switches import switches


rule neighbor_space:
    """TF-IDF vectors of the old dump's entities and of the new dump's updated subjects."""
    input:
        updates=buckets("results/{pair}/updates/{bucket}.parquet"),
        old=buckets("results/{pair}/filtered/old/{bucket}.parquet"),
        new=buckets("results/{pair}/filtered/new/{bucket}.parquet"),
    output:
        space=directory("results/{pair}/neighbors/space"),
    log:
        "logs/{pair}/neighbors/space.txt",
    benchmark:
        "logs/{pair}/neighbors/space.tsv"
    resources:
        **request("neighbors space"),
    params:
        code=code("neighbors space"),
        variant=config["variant"],
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift neighbors space \
            --updates {input.updates:q} \
            --old {input.old:q} \
            --new {input.new:q} \
            --variant {params.variant} \
            --output {output.space:q}
        """


rule neighbor_holding:
    """Facts of each subject of a bucket under the updated relations, as of T_old."""
    input:
        updates=buckets("results/{pair}/updates/{bucket}.parquet"),
        old="results/{pair}/filtered/old/{bucket}.parquet",
        entities=entities("old"),
        labels=config["labels"],
    output:
        holding="results/{pair}/neighbors/holding/{bucket}.parquet",
    log:
        "logs/{pair}/neighbors/holding/{bucket}.txt",
    benchmark:
        "logs/{pair}/neighbors/holding/{bucket}.tsv"
    resources:
        **request("neighbors holding"),
    params:
        code=code("neighbors holding"),
        old_date=lambda wildcards: date_of(wildcards, "old"),
        variant=config["variant"],
        dates=switches(config)["dates"],
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift neighbors holding \
            --updates {input.updates:q} \
            --old {input.old:q} \
            --entities {input.entities:q} \
            --labels {input.labels:q} \
            --old-date {params.old_date} \
            --variant {params.variant} \
            --dates {params.dates} \
            --memory-mb 2000 \
            --output {output.holding:q}
        """


rule nearest_facts:
    """For each updated subject of one part, facts of the most similar entities (exact search)."""
    input:
        updates=buckets("results/{pair}/updates/{bucket}.parquet"),
        space="results/{pair}/neighbors/space",
        holding=buckets("results/{pair}/neighbors/holding/{bucket}.parquet"),
    output:
        neighbors="results/{pair}/neighbors/{part}.parquet",
    log:
        "logs/{pair}/neighbors/{part}.txt",
    benchmark:
        "logs/{pair}/neighbors/{part}.tsv"
    resources:
        **request("neighbors search"),
    params:
        code=code("neighbors search"),
        candidates=config["neighbors"]["entities"],
        facts=config["neighbors"]["facts"],
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift neighbors search \
            --updates {input.updates:q} \
            --space {input.space:q} \
            --holding {input.holding:q} \
            --candidates {params.candidates} \
            --facts {params.facts} \
            --part {wildcards.part} \
            --output {output.neighbors:q}
        """


rule gather_neighbors:
    """Nearest facts of all parts in one table."""
    input:
        parts=[
            f"results/{{pair}}/neighbors/{part}-of-{config['neighbors']['blocks']}.parquet"
            for part in range(config["neighbors"]["blocks"])
        ],
    output:
        neighbors="results/{pair}/neighbors.parquet",
    log:
        "logs/{pair}/neighbors.txt",
    benchmark:
        "logs/{pair}/neighbors.tsv"
    group:
        together("neighbors")
    resources:
        **request("neighbors gather"),
    params:
        code=code("neighbors gather"),
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift neighbors gather \
            --parts {input.parts:q} \
            --output {output.neighbors:q}
        """


rule random_facts:
    """Facts drawn from the neighbours of all replacements."""
    input:
        updates=buckets("results/{pair}/updates/{bucket}.parquet"),
        neighbors="results/{pair}/neighbors.parquet",
        replacements="results/{pair}/replacements.parquet",
        space="results/{pair}/neighbors/space",
    output:
        neighbors="results/{pair}/random_neighbors.parquet",
    log:
        "logs/{pair}/random_neighbors.txt",
    benchmark:
        "logs/{pair}/random_neighbors.tsv"
    group:
        together("neighbors")
    resources:
        **request("neighbors random"),
    params:
        code=code("neighbors random"),
        facts=config["neighbors"]["random"],
        seed=config["seed"],
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift neighbors random \
            --updates {input.updates:q} \
            --neighbors {input.neighbors:q} \
            --replacements {input.replacements:q} \
            --space {input.space:q} \
            --facts {params.facts} \
            --seed {params.seed} \
            --output {output.neighbors:q}
        """


rule shared_objects:
    """Facts of other subjects that share the old or the new object of a replacement."""
    input:
        updates=buckets("results/{pair}/updates/{bucket}.parquet"),
        old=buckets("results/{pair}/filtered/old/{bucket}.parquet"),
        new=buckets("results/{pair}/filtered/new/{bucket}.parquet"),
        entities=entities("old"),
        labels=config["labels"],
        space="results/{pair}/neighbors/space",
    output:
        obsolete="results/{pair}/neighbors/obsolete_objects.parquet",
        new="results/{pair}/neighbors/new_objects.parquet",
    log:
        "logs/{pair}/neighbors/shared_objects.txt",
    benchmark:
        "logs/{pair}/neighbors/shared_objects.tsv"
    resources:
        **request("neighbors shared-objects"),
    params:
        code=code("neighbors shared-objects"),
        old_date=lambda wildcards: wildcards.pair.split("_")[0],
        new_date=lambda wildcards: wildcards.pair.split("_")[1],
        variant=config["variant"],
        dates=switches(config)["dates"],
        candidates=config["neighbors"]["entities"],
        facts=config["neighbors"]["facts"],
        seed=config["seed"],
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift neighbors shared-objects \
            --updates {input.updates:q} \
            --old {input.old:q} \
            --old-date {params.old_date} \
            --new {input.new:q} \
            --new-date {params.new_date} \
            --entities {input.entities:q} \
            --labels {input.labels:q} \
            --space {input.space:q} \
            --variant {params.variant} \
            --dates {params.dates} \
            --candidates {params.candidates} \
            --facts {params.facts} \
            --seed {params.seed} \
            --out-new {output.new:q} \
            --output {output.obsolete:q}
        """
