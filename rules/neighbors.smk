"""Facts that an edit must not change: those of similar entities, and random ones.

Inputs: labelled updates, filtered statements of both dumps. Tables of shared objects are made by name only.
"""

POPULAR = ["results/{pair}/popular_neighbors.parquet"] if config["neighbors"]["choice"] == "popular" else []


rule neighbor_space:
    """TF-IDF vectors of the old dump's entities and of the new dump's updated subjects."""
    input:
        updates=every("results/{pair}/updates/{bucket}.parquet"),
        old=every("results/{pair}/filtered/old/{bucket}.parquet"),
        new=every("results/{pair}/filtered/new/{bucket}.parquet"),
        filters=resource("filters.tsv"),
    output:
        directory("results/{pair}/neighbors/space"),
    group:
        together("holding")
    shell:
        job("neighbors space")


rule neighbor_holding:
    """Facts of each subject of a bucket under the updated relations, as of T_old."""
    input:
        updates=every("results/{pair}/updates/{bucket}.parquet"),
        old="results/{pair}/filtered/old/{bucket}.parquet",
        entities=side_buckets("entities", "old", every),
        labels=config["labels"],
    output:
        "results/{pair}/neighbors/holding/{bucket}.parquet",
    group:
        together("holding")
    params:
        old_date=DATES["old_date"],
    shell:
        job("neighbors holding")


rule nearest_facts:
    """For each updated subject of one part, facts of the most similar entities (exact search)."""
    input:
        updates=every("results/{pair}/updates/{bucket}.parquet"),
        space="results/{pair}/neighbors/space",
        holding=every("results/{pair}/neighbors/holding/{bucket}.parquet"),
    output:
        "results/{pair}/neighbors/{part}.parquet",
    shell:
        job("neighbors search", without="popularity")


rule gather_neighbors:
    """Nearest facts of all parts in one table."""
    input:
        parts=lambda wildcards: parts(
            f"results/{wildcards.pair}/neighbors.parquet",
            f"results/{wildcards.pair}/neighbors/{{part}}-of-{{number}}.parquet",
            config["neighbors"]["blocks"],
        ),
    output:
        "results/{pair}/neighbors.parquet",
    group:
        together("dataset")
    shell:
        job("neighbors gather")


rule random_facts:
    """Facts drawn from the neighbours of all replacements."""
    input:
        updates=every("results/{pair}/updates/{bucket}.parquet"),
        neighbors="results/{pair}/neighbors.parquet",
        replacements="results/{pair}/replacements.parquet",
        space="results/{pair}/neighbors/space",
    output:
        "results/{pair}/random_neighbors.parquet",
    group:
        together("dataset")
    shell:
        job("neighbors random")


rule popular_facts:
    """Facts of the most popular subjects, with `neighbors.choice: popular`."""
    input:
        updates=every("results/{pair}/updates/{bucket}.parquet"),
        space="results/{pair}/neighbors/space",
        holding=every("results/{pair}/neighbors/holding/{bucket}.parquet"),
        popularity="results/{pair}/popularity.parquet",
    output:
        "results/{pair}/popular_neighbors.parquet",
    group:
        together("dataset")
    resources:
        **request("neighbors random"),
    shell:
        job("neighbors search", without="candidates part")


rule shared_objects:
    """Facts of other subjects that share the old or the new object of a replacement."""
    input:
        updates=every("results/{pair}/updates/{bucket}.parquet"),
        old=every("results/{pair}/filtered/old/{bucket}.parquet"),
        new=every("results/{pair}/filtered/new/{bucket}.parquet"),
        entities=side_buckets("entities", "old", every),
        labels=config["labels"],
        space="results/{pair}/neighbors/space",
    output:
        output="results/{pair}/neighbors/obsolete_objects.parquet",
        out_new="results/{pair}/neighbors/new_objects.parquet",
    params:
        **DATES,
    shell:
        job("neighbors shared-objects")
