"""One dump into the tables of one snapshot, scattered over shards of the file, gathered into subject buckets.

Inputs: the dump of a date. Lists of the files of a table in buckets are made by name only.
"""

from factdrift.core.settings import names, scope

for asked in snapshot_targets():

    # Other rules write into the folder, so it cannot be an output: the target is a rule of that name.
    rule:
        name:
            asked
        input:
            snapshot_tables(asked),


rule extract_shard:
    """A share of the dump's lines, parsed into tables that are split by subject."""
    input:
        dump=lambda wildcards: dump_file(wildcards.date),
    output:
        temp(directory("results/snapshots/{date}/shards/{shard}x{buckets}")),
    group:
        together("shards")
    params:
        shard=lambda wildcards: wildcards.shard.split("-of-")[0],
        shards=lambda wildcards: wildcards.shard.split("-of-")[1],
        scope=scope(config),
        names=names(config),
        languages=sorted(set(config["languages"]) - {"en"}),
    shell:
        job("statements extract")


rule gather_snapshot:
    """The side tables of a snapshot, its counts, the check of its bad lines; the shards in one folder."""
    input:
        shard_dirs=shards,
        dump=lambda wildcards: dump_file(wildcards.date),
    output:
        properties="results/snapshots/{date}/properties.parquet",
        classes="results/snapshots/{date}/classes.parquet",
        json="results/snapshots/{date}/snapshot.json",
        # A job of a bucket that named each shard would make a graph of shards times buckets.
        together=temp(directory("results/snapshots/{date}/shards-together")),
    resources:
        max_bad_lines=str(config["max_bad_lines"]),
    shell:
        job("statements snapshot", without="memory", after="statements extract")


rule gather_statements:
    """All that concerns the subjects of one bucket, each entity once."""
    input:
        shard_dirs="results/snapshots/{date}/shards-together",
        properties="results/snapshots/{date}/properties.parquet",
    output:
        statements="results/snapshots/{date}/statements/{bucket}.parquet",
        entities="results/snapshots/{date}/entities/{bucket}.parquet",
        translations="results/snapshots/{date}/translations/{bucket}.parquet",
    group:
        together("gathered")
    params:
        bucket=lambda wildcards: wildcards.bucket.split("-of-")[0],
    shell:
        job("statements gather", without="memory", after="statements extract")


rule every_bucket:
    """The names of a table's files, which all buckets have, and when they were there.

    By the names alone, which are always the same, Snakemake would take what was made of an earlier table for new.
    """
    input:
        lambda wildcards: buckets(f"results/{wildcards.table}/{{bucket}}.parquet"),
    output:
        f"results/{{table}}/every{LIST_OF_FILES}",
    log:
        "logs/{table}/every.txt",
    benchmark:
        "logs/{table}/every.tsv"
    localrule: True
    shell:
        "(date '+# made %s' > {output} && printf '%s\n' {input} | sed 's#.*/##' >> {output}) 2> >(tee {log:q} >&2)"
