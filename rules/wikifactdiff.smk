"""The datasets: one record an update, the replacements among them, and the account of how they came about.

Inputs: labelled updates, neighbours, words.
Outputs: results/{pair}/: popularity.parquet, wikifactdiff.parquet, wfd_repl.parquet, their JSON Lines,
wikifactdiff.stats.json, funnel.parquet, manifest.json; by name only shared_objects.parquet; the configured pair's under their short names in results/.
"""

import json

from factdrift.core.stage_settings import settings_of
from factdrift.wikifactdiff.commands import AssembleSettings


include: "inputs/wikifactdiff.smk"


rule popularity:
    """Popularity of every item: page views of its article, or its number of sitelinks."""
    input:
        new=entities("new"),
        old=entities("old"),
        pageviews=lambda wildcards: pageview_months(date_of(wildcards, "new")),
    output:
        popularity="results/{pair}/popularity.parquet",
    log:
        "logs/{pair}/popularity.txt",
    benchmark:
        "logs/{pair}/popularity.tsv"
    group:
        together("dataset")
    resources:
        **request("wikifactdiff popularity"),
    params:
        code=code("wikifactdiff popularity"),
        pageviews=pageview_folder,
        date=lambda wildcards: date_of(wildcards, "new"),
        months=config["method"]["popularity_months"],
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift wikifactdiff popularity \
            --new {input.new:q} \
            --old {input.old:q} \
            --pageviews {params.pageviews:q} \
            --date {params.date} \
            --months {params.months} \
            --output {output.popularity:q}
        """


rule snapshot_popularity:
    """Popularity of every item of one dump, as of its date."""
    input:
        entities=buckets("results/snapshots/{date}/entities/{bucket}.parquet"),
        pageviews=lambda wildcards: pageview_months(wildcards.date),
    output:
        popularity="results/snapshots/{date}/popularity.parquet",
    log:
        "logs/snapshots/{date}/popularity.txt",
    benchmark:
        "logs/snapshots/{date}/popularity.tsv"
    resources:
        **request("wikifactdiff popularity"),
    params:
        code=code("wikifactdiff popularity"),
        pageviews=pageview_folder,
        months=config["method"]["popularity_months"],
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift wikifactdiff popularity \
            --new {input.entities:q} \
            --pageviews {params.pageviews:q} \
            --date {wildcards.date} \
            --months {params.months} \
            --output {output.popularity:q}
        """


rule select_replacements:
    """The groups of WFD_repl: one object replaced another; population series are undersampled."""
    input:
        updates=buckets("results/{pair}/updates/{bucket}.parquet"),
    output:
        groups="results/{pair}/replacements.parquet",
    log:
        "logs/{pair}/replacements.txt",
    benchmark:
        "logs/{pair}/replacements.tsv"
    group:
        together("neighbors")
    resources:
        **request("wikifactdiff select"),
    params:
        code=code("wikifactdiff select"),
        undersample=[
            f"--undersample={relation}={factor}"
            for relation, factor in sorted(config["undersample"].items())
        ],
        seed=config["seed"],
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift wikifactdiff select \
            --updates {input.updates:q} \
            {params.undersample:q} \
            --seed {params.seed} \
            --output {output.groups:q}
        """


rule funnel:
    """Number of triples that each filter and rule dropped or labelled, per relation."""
    input:
        report="results/{pair}/preprocess_report.parquet",
        updates=buckets("results/{pair}/updates/{bucket}.parquet"),
        untouched=buckets("results/{pair}/untouched/{bucket}.parquet"),
        groups="results/{pair}/replacements.parquet",
    output:
        funnel="results/{pair}/funnel.parquet",
    log:
        "logs/{pair}/funnel.txt",
    benchmark:
        "logs/{pair}/funnel.tsv"
    group:
        together("dataset")
    resources:
        **request("wikifactdiff funnel"),
    params:
        code=code("wikifactdiff funnel"),
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift wikifactdiff funnel \
            --report {input.report:q} \
            --updates {input.updates:q} \
            --untouched {input.untouched:q} \
            --groups {input.groups:q} \
            --output {output.funnel:q}
        """


rule assemble:
    """One record per update, with sentences, cloze tests and neighbours."""
    input:
        updates=buckets("results/{pair}/updates/{bucket}.parquet"),
        old_entities=entities("old"),
        new_entities=entities("new"),
        old_properties=side("properties.parquet", "old"),
        new_properties=side("properties.parquet", "new"),
        labels=config["labels"],
        popularity="results/{pair}/popularity.parquet",
        templates="results/{pair}/templates.parquet",
        literals="results/{pair}/literals.parquet",
        neighbors="results/{pair}/neighbors.parquet",
        random="results/{pair}/random_neighbors.parquet",
        funnel="results/{pair}/funnel.parquet",
        words=word_tables(),
    output:
        dataset="results/{pair}/wikifactdiff.parquet",
    log:
        "logs/{pair}/wikifactdiff.txt",
    benchmark:
        "logs/{pair}/wikifactdiff.tsv"
    group:
        together("dataset")
    resources:
        **request("wikifactdiff assemble"),
        # A resource, since a dataset that is there need not be made again for it.
        empty=lambda wildcards: may_be_empty(wildcards),
    params:
        code=code("wikifactdiff assemble"),
        settings=lambda wildcards: settings_of(of_pair(wildcards), AssembleSettings, ""),
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift wikifactdiff assemble \
            --updates {input.updates:q} \
            --old-entities {input.old_entities:q} \
            --new-entities {input.new_entities:q} \
            --old-properties {input.old_properties:q} \
            --new-properties {input.new_properties:q} \
            --labels {input.labels:q} \
            --popularity {input.popularity:q} \
            --templates {input.templates:q} \
            --literals {input.literals:q} \
            --neighbors {input.neighbors:q} \
            --random-neighbors {input.random:q} \
            --funnel {input.funnel:q} \
            --settings {params.settings:q} {resources.empty} \
            --output {output.dataset:q}
        """


use rule assemble as assemble_shared_objects with:
    # The same records with other neighbour facts, for CounterFact's layout; by name only.
    input:
        **dict(rules.assemble.input.items())
        | {
            "neighbors": "results/{pair}/neighbors/obsolete_objects.parquet",
            "random": "results/{pair}/neighbors/new_objects.parquet",
        },
    output:
        dataset="results/{pair}/shared_objects.parquet",
    log:
        "logs/{pair}/shared_objects.txt",
    benchmark:
        "logs/{pair}/shared_objects.tsv"
    group:
        None


rule replacements:
    """WFD_repl: the records of the selected groups."""
    input:
        dataset="results/{pair}/wikifactdiff.parquet",
        groups="results/{pair}/replacements.parquet",
    output:
        dataset="results/{pair}/wfd_repl.parquet",
    log:
        "logs/{pair}/wfd_repl.txt",
    benchmark:
        "logs/{pair}/wfd_repl.tsv"
    group:
        together("dataset")
    resources:
        **request("wikifactdiff replacements"),
    params:
        code=code("wikifactdiff replacements"),
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift wikifactdiff replacements \
            --dataset {input.dataset:q} \
            --groups {input.groups:q} \
            --output {output.dataset:q}
        """


rule statistics:
    """Counts of the WikiFactDiff paper's Table 2 for this build."""
    input:
        dataset="results/{pair}/wikifactdiff.parquet",
        groups="results/{pair}/replacements.parquet",
    output:
        counts="results/{pair}/wikifactdiff.stats.json",
    log:
        "logs/{pair}/stats.txt",
    benchmark:
        "logs/{pair}/stats.tsv"
    group:
        together("dataset")
    resources:
        **request("wikifactdiff stats"),
    params:
        code=code("wikifactdiff stats"),
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift wikifactdiff stats \
            --dataset {input.dataset:q} \
            --groups {input.groups:q} \
            --output {output.counts:q}
        """


rule export_jsonl:
    """A dataset as JSON Lines in the layout of the published one."""
    input:
        dataset="results/{pair}/{dataset}.parquet",
    output:
        lines="results/{pair}/{dataset}.jsonl",
    log:
        "logs/{pair}/{dataset}.jsonl.txt",
    benchmark:
        "logs/{pair}/{dataset}.jsonl.tsv"
    wildcard_constraints:
        dataset="wikifactdiff|wfd_repl",
    group:
        together("dataset")
    resources:
        **request("wikifactdiff export"),
    params:
        code=code("wikifactdiff export"),
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift wikifactdiff export \
            --dataset {input.dataset:q} \
            --output {output.lines:q}
        """


rule manifest:
    """Manifest of the build: dumps, configuration, versions, and the number of rows of every table."""
    input:
        dumps=lambda wildcards: [dump_file(date) for date in wildcards.pair.split("_")],
        snapshots=lambda wildcards: [
            f"results/snapshots/{date}/snapshot.json" for date in wildcards.pair.split("_")
        ],
        samples=lambda wildcards: [
            f"results/snapshots/{date}/sample.account.json" for date in sample_dates(wildcards)
        ],
        funnel="results/{pair}/funnel.parquet",
        tables=expand(
            "results/{{pair}}/{name}.parquet",
            name=[
                *("preprocess_report", "popularity", "replacements", "neighbors", "random_neighbors"),
                *("templates", "literals", "funnel", "wikifactdiff"),
            ],
        ),
        bucketed=[
            path
            for table in ("triples", "new_entities", "updates", "untouched")
            for path in buckets(f"results/{{pair}}/{table}/{{bucket}}.parquet")
        ],
    output:
        manifest="results/{pair}/manifest.json",
    log:
        "logs/{pair}/manifest.txt",
    benchmark:
        "logs/{pair}/manifest.tsv"
    group:
        together("dataset")
    resources:
        **request("wikifactdiff manifest"),
    params:
        code=code("wikifactdiff manifest"),
        dumps=lambda wildcards, input: [
            f"--dump={date}={path}" for date, path in zip(wildcards.pair.split("_"), input.dumps)
        ],
        snapshots=lambda wildcards, input: [
            f"--snapshot={date}={path}" for date, path in zip(wildcards.pair.split("_"), input.snapshots)
        ],
        samples=lambda wildcards, input: [
            f"--sample={date}={path}" for date, path in zip(sample_dates(wildcards), input.samples)
        ],
        old_date=lambda wildcards: date_of(wildcards, "old"),
        new_date=lambda wildcards: date_of(wildcards, "new"),
        configuration=lambda wildcards: json.dumps(
            {
                key: value
                for key, value in of_pair(wildcards).items()
                if key not in ("stream", "refresh", "contact", "publish")
            },
            sort_keys=True,
        ),
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift wikifactdiff manifest \
            --old-date {params.old_date} \
            --new-date {params.new_date} \
            {params.dumps:q} \
            {params.snapshots:q} \
            {params.samples:q} \
            --configuration {params.configuration:q} \
            --tables {input.tables:q} {input.bucketed:q} \
            --funnel {input.funnel:q} \
            --output {output.manifest:q}
        """
