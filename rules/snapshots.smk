"""Dump files of the two dates.

Inputs: the tables of the bundled sample, or the user's own dump, or a list of entities to fetch.
Outputs: results/snapshots/{date}/sample.json.gz, derived.json.gz or entities.json.gz; a user's own dump is read
where it lies.
"""


rule render_sample:
    """The bundled facts as Wikidata's dump would have said them on that date."""
    input:
        tables=sorted(str(path) for path in Path(resource("sample")).rglob("*.tsv")),
        code=code("snapshots", "wikidata"),
    output:
        dump="results/snapshots/{date}/sample.json.gz",
    log:
        "logs/snapshots/{date}/sample.txt",
    benchmark:
        "logs/snapshots/{date}/sample.tsv"
    resources:
        mem_mb=1000,
    params:
        tables=lambda wildcards, input: os.path.commonpath(input.tables),
    shell:
        r"""
        exec &> >(tee {log:q})
        factdrift sample render \
            --tables {params.tables:q} \
            --date {wildcards.date} \
            --output {output.dump:q}
        """


rule derive_dump:
    """An approximate dump of that date, from the other date's, where the real one cannot be had."""
    input:
        dump=other_dump,
        code=code("snapshots", "wikidata"),
    output:
        dump="results/snapshots/{date}/derived.json.gz",
    log:
        "logs/snapshots/{date}/derived.txt",
    benchmark:
        "logs/snapshots/{date}/derived.tsv"
    resources:
        mem_mb=1000,
    shell:
        r"""
        exec &> >(tee {log:q})
        factdrift snapshots derive \
            --dump {input.dump:q} \
            --date {wildcards.date} \
            --output {output.dump:q}
        """


# The contact comes through the environment: another one is no reason to make anything again.
rule fetch_entities:
    """Some entities as they stood at the end of that day, with what they need, from Wikidata's API."""
    input:
        ids=lambda wildcards: fetched_entities(wildcards.date)["entities"],
        code=code("snapshots", "wikidata"),
    output:
        dump="results/snapshots/{date}/entities.json.gz",
        fetched="results/snapshots/{date}/fetched.parquet",
    log:
        "logs/snapshots/{date}/entities.txt",
    benchmark:
        "logs/snapshots/{date}/entities.tsv"
    resources:
        mem_mb=2000,
    params:
        api=config["wikidata_api"],
        objects=lambda wildcards: (
            "--with-objects" if fetched_entities(wildcards.date)["with_objects"] else ""
        ),
    shell:
        r"""
        exec &> >(tee {log:q})
        factdrift snapshots entities \
            --ids {input.ids:q} \
            --date {wildcards.date} \
            --api {params.api:q} \
            --store results/api \
            {params.objects} \
            --fetched {output.fetched:q} \
            --output {output.dump:q}
        """
