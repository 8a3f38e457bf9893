"""Ripples: what follows from an update, what it must leave alone, and what was true before.

Inputs: the datasets, the filtered statements and items of both snapshots, templates and words.
"""


rule ripple_facts:
    """The facts at T_old and T_new about the items of updates, in one bucket."""
    input:
        dataset="results/{pair}/wikifactdiff.parquet",
        old="results/{pair}/filtered/old/{bucket}.parquet",
        new="results/{pair}/filtered/new/{bucket}.parquet",
        entities=side("entities/{bucket}.parquet", "new"),
        filters=resource("filters.tsv"),
    output:
        output="results/{pair}/ripples/facts/{bucket}.parquet",
        out_stated="results/{pair}/ripples/stated/{bucket}.parquet",
        out_gone="results/{pair}/ripples/gone/{bucket}.parquet",
    group:
        together("ripple_facts")
    params:
        **DATES,
    shell:
        job("ripples facts")


rule ripple_names:
    """The names of all items in probes: one job reads all items, so that the jobs of buckets need not."""
    input:
        dataset="results/{pair}/wikifactdiff.parquet",
        groups="results/{pair}/replacements.parquet",
        facts=buckets("results/{pair}/ripples/facts/{bucket}.parquet"),
        old_entities=side_buckets("entities", "old"),
        new_entities=side_buckets("entities", "new"),
        labels=config["labels"],
    output:
        output="results/{pair}/ripples/names.parquet",
        out_shared="results/{pair}/ripples/shared.parquet",
    shell:
        job("ripples names")


rule ripple_probes:
    """The candidate probes about the updates of one bucket."""
    input:
        dataset="results/{pair}/wikifactdiff.parquet",
        groups="results/{pair}/replacements.parquet",
        facts=every("results/{pair}/ripples/facts/{bucket}.parquet"),
        stated=every("results/{pair}/ripples/stated/{bucket}.parquet"),
        gone=every("results/{pair}/ripples/gone/{bucket}.parquet"),
        names="results/{pair}/ripples/names.parquet",
        shared="results/{pair}/ripples/shared.parquet",
        properties=side("properties.parquet", "new"),
        templates="results/{pair}/templates.parquet",
        words=resources("ripples", "templates", "words"),
    output:
        output="results/{pair}/ripples/probes/{bucket}.parquet",
        out_dropped="results/{pair}/ripples/dropped/{bucket}.parquet",
    group:
        together("ripple_probes")
    params:
        **DATES,
    shell:
        job("ripples probes")


rule ripples:
    """The probes of all buckets, limited by answer and update, and counts of the dropped ones."""
    input:
        probes=buckets("results/{pair}/ripples/probes/{bucket}.parquet"),
        dropped=buckets("results/{pair}/ripples/dropped/{bucket}.parquet"),
    output:
        output="results/{pair}/ripples.parquet",
        out_dropped="results/{pair}/ripples/dropped.parquet",
    shell:
        job("ripples choose")
