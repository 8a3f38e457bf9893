"""The datasets: one record an update, the replacements among them, and the account of how they came about.

Inputs: labelled updates, neighbours, words.
"""


rule popularity:
    """Popularity of every item: page views of its article, or its number of sitelinks."""
    input:
        new=side_buckets("entities", "new", every),
        old=side_buckets("entities", "old", every),
        pageviews=lambda wildcards: pageview_months(date_of(wildcards, "new")),
    output:
        "results/{pair}/popularity.parquet",
    group:
        together("dataset")
    params:
        pageviews=pageview_folder,
        date=DATES["new_date"],
    shell:
        job("wikifactdiff popularity")


rule snapshot_popularity:
    """Popularity of every item of one dump, as of its date."""
    input:
        new=every("results/snapshots/{date}/entities/{bucket}.parquet"),
        pageviews=lambda wildcards: pageview_months(wildcards.date),
    output:
        "results/snapshots/{date}/popularity.parquet",
    params:
        pageviews=pageview_folder,
    shell:
        job("wikifactdiff popularity", without="old")


rule select_replacements:
    """The groups of WFD_repl: one object replaced another; population series are undersampled."""
    input:
        updates=every("results/{pair}/updates/{bucket}.parquet"),
    output:
        "results/{pair}/replacements.parquet",
    group:
        together("dataset")
    shell:
        job("wikifactdiff select", without="dataset groups")


rule funnel:
    """Number of triples that each filter and rule dropped or labelled, per relation."""
    input:
        report="results/{pair}/preprocess_report.parquet",
        updates=every("results/{pair}/updates/{bucket}.parquet"),
        untouched=every("results/{pair}/untouched/{bucket}.parquet"),
        groups="results/{pair}/replacements.parquet",
    output:
        "results/{pair}/funnel.parquet",
    group:
        together("dataset")
    shell:
        job("wikifactdiff funnel")


rule assemble:
    """One record per update, with sentences, cloze tests and neighbours."""
    input:
        updates=every("results/{pair}/updates/{bucket}.parquet"),
        old_entities=side_buckets("entities", "old", every),
        new_entities=side_buckets("entities", "new", every),
        old_properties=side("properties.parquet", "old"),
        new_properties=side("properties.parquet", "new"),
        labels=config["labels"],
        popularity="results/{pair}/popularity.parquet",
        templates="results/{pair}/templates.parquet",
        literals="results/{pair}/literals.parquet",
        neighbors="results/{pair}/neighbors.parquet",
        random_neighbors="results/{pair}/random_neighbors.parquet",
        popular_neighbors=POPULAR,
        funnel="results/{pair}/funnel.parquet",
        words=resources("words"),
    output:
        "results/{pair}/wikifactdiff.parquet",
    group:
        together("dataset")
    resources:
        # For pairs that are intervals only. A resource: a dataset that is there need not be made again for it.
        may_be_empty=lambda wildcards: str(
            f"results/{wildcards.pair}/" in of_intervals("") and wildcards.pair != f"{OLD}_{NEW}"
        ),
    params:
        **DATES,
    shell:
        job("wikifactdiff assemble")


use rule assemble as assemble_shared_objects with:
    # The same records with other neighbour facts, for CounterFact's layout; by name only.
    input:
        **dict(rules.assemble.input.items())
        | {
            "neighbors": "results/{pair}/neighbors/obsolete_objects.parquet",
            "random_neighbors": "results/{pair}/neighbors/new_objects.parquet",
        },
    output:
        "results/{pair}/shared_objects.parquet",
    group:
        None


rule replacements:
    """WFD_repl: the records of the selected groups."""
    input:
        dataset="results/{pair}/wikifactdiff.parquet",
        groups="results/{pair}/replacements.parquet",
    output:
        "results/{pair}/wfd_repl.parquet",
    group:
        together("dataset")
    shell:
        job("wikifactdiff select", without="updates undersample seed")


rule statistics:
    """Counts of the WikiFactDiff paper's Table 2 for this build."""
    input:
        dataset="results/{pair}/wikifactdiff.parquet",
        groups="results/{pair}/replacements.parquet",
        # CounterFact, or another benchmark, where a file of it was imported to be edited.
        beside=config["edit"]["dataset"] or [],
    output:
        "results/{pair}/wikifactdiff.stats.json",
    group:
        together("dataset")
    shell:
        job("wikifactdiff stats")


rule export_jsonl:
    """A dataset as JSON Lines in the layout of the published one."""
    input:
        dataset="results/{pair}/{dataset}.parquet",
    output:
        "results/{pair}/{dataset}.jsonl",
    wildcard_constraints:
        dataset="wikifactdiff|wfd_repl",
    group:
        together("dataset")
    shell:
        job("wikifactdiff export")


# Where and how jobs run, what is asked of models, and what other products are made of.
NOT_OF_A_BUILD = {
    *"answer audit check_disk cluster contact edit locate locators max_bad_lines methods models".split(),
    *"moments publish refresh ripples shards stream strict taught written".split(),
    *keys_of_methods(config["methods"]),
}


rule manifest:
    """Manifest of the build: dumps, configuration, versions, and the number of rows of every table."""
    input:
        dumps=lambda wildcards: [
            f"results/snapshots/{date}/checksum.json" for date in wildcards.pair.split("_")
        ],
        snapshots=lambda wildcards: [
            f"results/snapshots/{date}/snapshot.json" for date in wildcards.pair.split("_")
        ],
        samples=lambda wildcards: [
            f"results/snapshots/{date}/sample.account.json" for date in sample_dates(wildcards)
        ],
        funnel="results/{pair}/funnel.parquet",
        tables=[
            *expand(
                "results/{{pair}}/{name}.parquet",
                name=[
                    *("preprocess_report", "popularity", "replacements", "neighbors", "random_neighbors"),
                    *("templates", "literals", "funnel", "wikifactdiff"),
                ],
            ),
            *(
                path
                for table in ("triples", "new_entities", "updates", "untouched")
                for path in every(f"results/{{pair}}/{table}/{{bucket}}.parquet")
            ),
            *POPULAR,
        ],
    output:
        "results/{pair}/manifest.json",
    group:
        together("dataset")
    params:
        **DATES,
        sample_dates=sample_dates,
        configuration=lambda wildcards: json.dumps(
            {key: value for key, value in of_pair(wildcards).items() if key not in NOT_OF_A_BUILD}
            | {"neighbors": {key: value for key, value in config["neighbors"].items() if key != "blocks"}},
            sort_keys=True,
        ),
    shell:
        job("wikifactdiff manifest")
