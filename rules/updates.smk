"""Two snapshots into labelled updates: filters, difference, new entities, rules, anomalies, scenarios.

Inputs: the tables of both snapshots.
"""


rule filter_context:
    """Tables for the filters: relevant items; functional, meta and restrictive relations."""
    input:
        entities=side_buckets("entities", files=every),
        other_entities=lambda wildcards: side_buckets("entities", other(wildcards.which), every)(wildcards),
        classes=side("classes.parquet"),
        other_classes=lambda wildcards: side("classes.parquet", other(wildcards.which))(wildcards),
        properties=side("properties.parquet"),
        new_properties=side("properties.parquet", "new"),
        # For the job of the new one: whether the dumps fit each other is asked once.
        snapshots=lambda wildcards: (
            both_sides("snapshot.json")(wildcards)[::-1] if wildcards.which == "new" else []
        ),
    output:
        relevant="results/{pair}/context/{which}/relevant.parquet",
        relations="results/{pair}/context/{which}/relations.parquet",
    shell:
        job("updates context")


rule preprocess:
    """Finds the first filter that drops each statement of a bucket, and writes the kept statements separately."""
    input:
        statements=side("statements/{bucket}.parquet"),
        relevant="results/{pair}/context/{which}/relevant.parquet",
        relations="results/{pair}/context/{which}/relations.parquet",
        filters=resource("filters.tsv"),
    output:
        output="results/{pair}/filtered/{which}/{bucket}.parquet",
        kept="results/{pair}/kept/{which}/{bucket}.parquet",
    group:
        together("differences")
    params:
        dump_is="{which}",
    shell:
        job("updates preprocess")


rule preprocess_report:
    """Number of statements that each filter dropped, per property."""
    input:
        old=every("results/{pair}/filtered/old/{bucket}.parquet"),
        new=every("results/{pair}/filtered/new/{bucket}.parquet"),
    output:
        "results/{pair}/preprocess_report.parquet",
    group:
        together("dataset")
    shell:
        job("updates report")


rule difference:
    """Triples of one bucket: only in the old dump (F-), in both (F0), only in the new dump (F+); new entities."""
    input:
        old=expand(rules.preprocess.output, which="old", allow_missing=True),
        new=expand(rules.preprocess.output, which="new", allow_missing=True),
        old_entities=side("entities/{bucket}.parquet", "old"),
    output:
        output="results/{pair}/triples/{bucket}.parquet",
        new_entities="results/{pair}/new_entities/{bucket}.parquet",
    group:
        together("differences")
    shell:
        job("updates difference")


rule classify:
    """Labels the triples of one bucket by the rule table; drops or keeps each group of a subject and relation."""
    input:
        triples="results/{pair}/triples/{bucket}.parquet",
        old=expand(rules.preprocess.output, which="old", allow_missing=True),
        new=expand(rules.preprocess.output, which="new", allow_missing=True),
        relations="results/{pair}/context/new/relations.parquet",
        new_entities=every("results/{pair}/new_entities/{bucket}.parquet"),
        old_entities=side_buckets("entities", "old", every),
        entities=side_buckets("entities", "new", every),
        properties=both_sides("properties.parquet"),
        labels=config["labels"],
        only_subjects=[config["only"]["subjects"]] if config["only"]["subjects"] else [],
        classes=both_sides("classes.parquet") if config["only"]["classes"] else [],
        rules=resource("rules.tsv"),
    output:
        output="results/{pair}/updates/{bucket}.parquet",
        untouched="results/{pair}/untouched/{bucket}.parquet",
    group:
        together("labels")
    shell:
        job("updates classify")
