"""Two snapshots into labelled updates: filters, difference, new entities, rules, anomalies, scenarios.

Inputs: the tables of both snapshots.
Outputs: results/{pair}/: filtered/{which}/{bucket}.parquet, kept/{which}/{bucket}.parquet, preprocess_report.parquet, triples/{bucket}.parquet,
new_entities/{bucket}.parquet, updates/{bucket}.parquet, untouched/{bucket}.parquet.
"""

from factdrift.core.stage_settings import settings_of
from factdrift.updates.method import PART as METHOD, MethodSettings


include: "inputs/updates.smk"


rule filter_context:
    """Tables that the filters look up: relevant items; functional, meta and restrictive relations."""
    input:
        entities=lambda wildcards: entities(wildcards.which)(wildcards),
        other_entities=lambda wildcards: entities(other(wildcards.which))(wildcards),
        classes=side("classes.parquet"),
        other_classes=lambda wildcards: side("classes.parquet", other(wildcards.which))(wildcards),
        properties=side("properties.parquet"),
        new_properties=side("properties.parquet", "new"),
        snapshots=both_counts,
    output:
        relevant="results/{pair}/context/{which}/relevant.parquet",
        relations="results/{pair}/context/{which}/relations.parquet",
    log:
        "logs/{pair}/context/{which}.txt",
    benchmark:
        "logs/{pair}/context/{which}.tsv"
    resources:
        **request("updates context"),
    params:
        code=code("updates context"),
        settings=lambda wildcards: settings_of(of_pair(wildcards), MethodSettings, METHOD),
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift updates context \
            --entities {input.entities:q} \
            --other-entities {input.other_entities:q} \
            --classes {input.classes:q} \
            --other-classes {input.other_classes:q} \
            --properties {input.properties:q} \
            --new-properties {input.new_properties:q} \
            --snapshots {input.snapshots:q} \
            --settings {params.settings:q} \
            --relevant {output.relevant:q} \
            --relations {output.relations:q}
        """


rule preprocess:
    """Gives each statement of a bucket the first filter that drops it, and writes the kept statements apart."""
    input:
        statements=side("statements/{bucket}.parquet"),
        relevant="results/{pair}/context/{which}/relevant.parquet",
        relations="results/{pair}/context/{which}/relations.parquet",
    output:
        filtered="results/{pair}/filtered/{which}/{bucket}.parquet",
        kept="results/{pair}/kept/{which}/{bucket}.parquet",
    log:
        "logs/{pair}/filtered/{which}/{bucket}.txt",
    benchmark:
        "logs/{pair}/filtered/{which}/{bucket}.tsv"
    resources:
        **request("updates preprocess"),
    params:
        code=code("updates preprocess"),
        settings=lambda wildcards: settings_of(of_pair(wildcards), MethodSettings, METHOD),
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift updates preprocess \
            --statements {input.statements:q} \
            --relevant {input.relevant:q} \
            --relations {input.relations:q} \
            --dump-is {wildcards.which} \
            --settings {params.settings:q} \
            --output {output.filtered:q} \
            --kept {output.kept:q}
        """


rule preprocess_report:
    """Number of statements that each filter dropped, per property."""
    input:
        old=buckets("results/{pair}/filtered/old/{bucket}.parquet"),
        new=buckets("results/{pair}/filtered/new/{bucket}.parquet"),
    output:
        report="results/{pair}/preprocess_report.parquet",
    log:
        "logs/{pair}/preprocess_report.txt",
    benchmark:
        "logs/{pair}/preprocess_report.tsv"
    group:
        together("dataset")
    resources:
        **request("updates report"),
    params:
        code=code("updates report"),
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift updates report \
            --old {input.old:q} \
            --new {input.new:q} \
            --output {output.report:q}
        """


rule difference:
    """Triples of one bucket: only in the old dump (F-), in both (F0), only in the new dump (F+)."""
    input:
        old=preprocessed("old"),
        new=preprocessed("new"),
    output:
        triples="results/{pair}/triples/{bucket}.parquet",
    log:
        "logs/{pair}/triples/{bucket}.txt",
    benchmark:
        "logs/{pair}/triples/{bucket}.tsv"
    resources:
        **request("updates difference"),
    params:
        code=code("updates difference"),
        settings=lambda wildcards: settings_of(of_pair(wildcards), MethodSettings, METHOD),
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift updates difference \
            --old {input.old:q} \
            --new {input.new:q} \
            --settings {params.settings:q} \
            --output {output.triples:q}
        """


rule new_entities:
    """Subjects of one bucket that came into existence after T_old."""
    input:
        statements=side("statements/{bucket}.parquet", "new"),
        triples="results/{pair}/triples/{bucket}.parquet",
        old_entities=side("entities/{bucket}.parquet", "old"),
    output:
        entities="results/{pair}/new_entities/{bucket}.parquet",
    log:
        "logs/{pair}/new_entities/{bucket}.txt",
    benchmark:
        "logs/{pair}/new_entities/{bucket}.tsv"
    resources:
        **request("updates new-entities"),
    params:
        code=code("updates new-entities"),
        settings=lambda wildcards: settings_of(of_pair(wildcards), MethodSettings, METHOD),
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift updates new-entities \
            --statements {input.statements:q} \
            --triples {input.triples:q} \
            --old-entities {input.old_entities:q} \
            --settings {params.settings:q} \
            --output {output.entities:q}
        """


rule classify:
    """Labels the triples of one bucket by the rule table; drops or keeps each group of a subject and relation."""
    input:
        triples="results/{pair}/triples/{bucket}.parquet",
        old=preprocessed("old"),
        new=preprocessed("new"),
        relations="results/{pair}/context/new/relations.parquet",
        new_entities=buckets("results/{pair}/new_entities/{bucket}.parquet"),
        old_entities=entities("old"),
        entities=entities("new"),
        properties=lambda wildcards: [
            side("properties.parquet", which)(wildcards) for which in ("new", "old")
        ],
        labels=config["labels"],
        subjects=[config["only"]["subjects"]] if config["only"]["subjects"] else [],
        classes=only_classes_tables,
        rules=resource("rules.tsv"),
    output:
        updates="results/{pair}/updates/{bucket}.parquet",
        untouched="results/{pair}/untouched/{bucket}.parquet",
    log:
        "logs/{pair}/updates/{bucket}.txt",
    benchmark:
        "logs/{pair}/updates/{bucket}.tsv"
    resources:
        **request("updates classify"),
    params:
        code=code("updates classify"),
        settings=lambda wildcards: settings_of(of_pair(wildcards), MethodSettings, METHOD),
        relations=config["only"]["relations"],
        subjects=["--only-subjects", config["only"]["subjects"]] if config["only"]["subjects"] else [],
        classes=only_classes_options,
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
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
            {params.subjects:q} {params.classes:q} \
            --settings {params.settings:q} \
            --output {output.updates:q} \
            --untouched {output.untouched:q}
        """
