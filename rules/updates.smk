"""Two snapshots into labelled updates: filters, difference, new entities, rules, anomalies, scenarios.

Inputs: the tables of both snapshots.
Outputs: results/{pair}/: filtered/{which}/{bucket}.parquet, kept/{which}/{bucket}.parquet, preprocess_report.parquet, triples/{bucket}.parquet,
new_entities/{bucket}.parquet, updates/{bucket}.parquet, untouched/{bucket}.parquet.
"""


rule filter_context:
    """Which items are relevant, which relations functional, meta or restrictive: what the filters look up."""
    input:
        entities=lambda wildcards: entities(wildcards.which),
        other_entities=lambda wildcards: entities("old" if wildcards.which == "new" else "new"),
        classes=side("classes.parquet"),
        other_classes=lambda wildcards: f"results/snapshots/{OLD if wildcards.which == 'new' else NEW}/classes.parquet",
        properties=side("properties.parquet"),
        new_properties=f"results/snapshots/{NEW}/properties.parquet",
        code=code("updates"),
    output:
        relevant="results/{pair}/context/{which}/relevant.parquet",
        relations="results/{pair}/context/{which}/relations.parquet",
    log:
        "logs/{pair}/context/{which}.txt",
    benchmark:
        "logs/{pair}/context/{which}.tsv"
    resources:
        mem_mb=4000,
    params:
        method=lambda wildcards: method(config),
    shell:
        r"""
        exec &> >(tee {log:q})
        factdrift updates context \
            --entities {input.entities:q} \
            --other-entities {input.other_entities:q} \
            --classes {input.classes:q} \
            --other-classes {input.other_classes:q} \
            --properties {input.properties:q} \
            --new-properties {input.new_properties:q} \
            --method {params.method:q} \
            --relevant {output.relevant:q} \
            --relations {output.relations:q}
        """


rule preprocess:
    """Each statement with the first filter that drops it, and those that no filter drops."""
    input:
        statements=side("statements/{bucket}.parquet"),
        relevant="results/{pair}/context/{which}/relevant.parquet",
        relations="results/{pair}/context/{which}/relations.parquet",
        code=code("updates"),
    output:
        filtered="results/{pair}/filtered/{which}/{bucket}.parquet",
        kept="results/{pair}/kept/{which}/{bucket}.parquet",
    log:
        "logs/{pair}/filtered/{which}/{bucket}.txt",
    benchmark:
        "logs/{pair}/filtered/{which}/{bucket}.tsv"
    resources:
        mem_mb=2000,
    params:
        method=lambda wildcards: method(config),
    shell:
        r"""
        exec &> >(tee {log:q})
        factdrift updates preprocess \
            --statements {input.statements:q} \
            --relevant {input.relevant:q} \
            --relations {input.relations:q} \
            --dump-is {wildcards.which} \
            --method {params.method:q} \
            --output {output.filtered:q} \
            --kept {output.kept:q}
        """


rule preprocess_report:
    """What each filter dropped, per property."""
    input:
        old=buckets("results/{pair}/filtered/old/{bucket}.parquet"),
        new=buckets("results/{pair}/filtered/new/{bucket}.parquet"),
        code=code("updates"),
    output:
        report="results/{pair}/preprocess_report.parquet",
    log:
        "logs/{pair}/preprocess_report.txt",
    benchmark:
        "logs/{pair}/preprocess_report.tsv"
    resources:
        mem_mb=2000,
    shell:
        r"""
        exec &> >(tee {log:q})
        factdrift updates report \
            --old {input.old:q} \
            --new {input.new:q} \
            --output {output.report:q}
        """


rule difference:
    """F-, F0 and F+ of one bucket."""
    input:
        old=preprocessed("old"),
        new=preprocessed("new"),
        code=code("updates"),
    output:
        triples="results/{pair}/triples/{bucket}.parquet",
    log:
        "logs/{pair}/triples/{bucket}.txt",
    benchmark:
        "logs/{pair}/triples/{bucket}.tsv"
    resources:
        mem_mb=2000,
    params:
        method=lambda wildcards: method(config),
    shell:
        r"""
        exec &> >(tee {log:q})
        factdrift updates difference \
            --old {input.old:q} \
            --new {input.new:q} \
            --method {params.method:q} \
            --output {output.triples:q}
        """


rule new_entities:
    """The subjects of one bucket that came into the world after T_old."""
    input:
        statements=f"results/snapshots/{NEW}/statements/{{bucket}}.parquet",
        triples="results/{pair}/triples/{bucket}.parquet",
        old_entities=f"results/snapshots/{OLD}/entities/{{bucket}}.parquet",
        code=code("updates"),
    output:
        entities="results/{pair}/new_entities/{bucket}.parquet",
    log:
        "logs/{pair}/new_entities/{bucket}.txt",
    benchmark:
        "logs/{pair}/new_entities/{bucket}.tsv"
    resources:
        mem_mb=2000,
    params:
        method=lambda wildcards: method(config),
    shell:
        r"""
        exec &> >(tee {log:q})
        factdrift updates new-entities \
            --statements {input.statements:q} \
            --triples {input.triples:q} \
            --old-entities {input.old_entities:q} \
            --method {params.method:q} \
            --output {output.entities:q}
        """


rule classify:
    """Labels of one bucket's triples by the rule table, and what becomes of its groups."""
    input:
        triples="results/{pair}/triples/{bucket}.parquet",
        old=preprocessed("old"),
        new=preprocessed("new"),
        relations="results/{pair}/context/new/relations.parquet",
        new_entities=buckets("results/{pair}/new_entities/{bucket}.parquet"),
        old_entities=entities("old"),
        entities=entities("new"),
        properties=expand("results/snapshots/{date}/properties.parquet", date=[NEW, OLD]),
        labels=config["labels"],
        subjects=[config["only"]["subjects"]] if config["only"]["subjects"] else [],
        rules=resource("rules.tsv"),
        code=code("updates"),
    output:
        updates="results/{pair}/updates/{bucket}.parquet",
        untouched="results/{pair}/untouched/{bucket}.parquet",
    log:
        "logs/{pair}/updates/{bucket}.txt",
    benchmark:
        "logs/{pair}/updates/{bucket}.tsv"
    resources:
        mem_mb=2000,
    params:
        method=lambda wildcards: method(config),
        relations=config["only"]["relations"],
        subjects=["--only-subjects", config["only"]["subjects"]] if config["only"]["subjects"] else [],
    shell:
        r"""
        exec &> >(tee {log:q})
        factdrift updates classify \
            --triples {input.triples:q} \
            --old {input.old:q} \
            --new {input.new:q} \
            --relations {input.relations:q} \
            --new-entities {input.new_entities:q} \
            --old-entities {input.old_entities:q} \
            --entities {input.entities:q} \
            --properties {input.properties:q} \
            --labels {input.labels:q} \
            --rules {input.rules:q} \
            --only-relations {params.relations:q} \
            {params.subjects:q} \
            --method {params.method:q} \
            --output {output.updates:q} \
            --untouched {output.untouched:q}
        """
