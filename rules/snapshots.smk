"""Dump files of the two dates.

Inputs: the tables of the bundled sample, or the user's own dump, or servers, or a list of entities to fetch.
Outputs: results/snapshots/{date}/sample.json.gz, derived.json.gz, entities.json.gz or wikidata.json.gz (.bz2, ...); a
user's own dump is read where it lies. results/fetched/pageviews/{month}.parquet.
"""

from factdrift.core.settings import derived_from


include: "inputs/snapshots.smk"


# Downloads have no fingerprint of code: a change of it is no reason to fetch 100 GB again.


rule download_dump:
    """A dump from its server. What has arrived lies in OUTPUT.part and survives a failed job."""
    output:
        "results/snapshots/{date}/wikidata.{suffix}",
    log:
        "logs/snapshots/{date}/wikidata.{suffix}.txt",
    benchmark:
        "logs/snapshots/{date}/wikidata.{suffix}.tsv"
    wildcard_constraints:
        suffix=r"jsonl?(\.(gz|bz2|zst))?",
        # A server may have lost the dump of a released date, so it is not fetched in the place of the one here.
        date=none_of(RELEASED_DATES) + r"\d{4}-\d{2}-\d{2}",
    localrule: True
    resources:
        **request("dumps download"),
        download=1,
    params:
        date="{date}",
        url=lambda wildcards: own_address(dump_source(config, wildcards.date)),
    shell:
        job("dumps download", without="registry contact tries timeout")


rule download_pageviews:
    """A month of page views of the English Wikipedia, filtered while it streams and never stored whole."""
    output:
        "results/fetched/pageviews/{month}.parquet",
    log:
        "logs/pageviews/{month}.txt",
    benchmark:
        "logs/pageviews/{month}.tsv"
    wildcard_constraints:
        month=r"\d{4}-\d{2}",
    localrule: True
    resources:
        **request("pageviews download"),
        download=1,
    params:
        month="{month}",
        server=own_address(config["pageviews"]),
    shell:
        job("pageviews download", without="contact tries timeout memory_mb")


rule render_sample:
    """The bundled facts as Wikidata's dump would have said them on that date."""
    input:
        facts=sorted(str(path) for path in Path(resource("sample")).rglob("*.tsv")),
    output:
        output="results/snapshots/{date}/sample.json.gz",
        account="results/snapshots/{date}/sample.account.json",
    log:
        "logs/snapshots/{date}/sample.txt",
    benchmark:
        "logs/snapshots/{date}/sample.tsv"
    resources:
        **request("sample render"),
    params:
        **given("sample render", date="{date}"),
    shell:
        job("sample render", without="tables")


# Of full dumps that takes minutes, which nothing but the manifest needs, and each pair of their dates would take again.
rule checksum_dump:
    """Name, size and checksum of a dump, for the manifests of its pairs."""
    input:
        dump=lambda wildcards: dump_file(wildcards.date),
    output:
        "results/snapshots/{date}/checksum.json",
    log:
        "logs/snapshots/{date}/checksum.txt",
    benchmark:
        "logs/snapshots/{date}/checksum.tsv"
    resources:
        **request("snapshots checksum"),
    params:
        **given("snapshots checksum"),
    shell:
        job("snapshots checksum", without="kind")


rule derive_dump:
    """An approximate dump of that date, from the other date's, where the real one cannot be had."""
    input:
        dump=lambda wildcards: dump_file(derived_from(config, wildcards.date)),
    output:
        "results/snapshots/{date}/derived.json.gz",
    log:
        "logs/snapshots/{date}/derived.txt",
    benchmark:
        "logs/snapshots/{date}/derived.tsv"
    resources:
        **request("snapshots derive"),
    params:
        **given("snapshots derive", date="{date}"),
    shell:
        job("snapshots derive")


# The contact comes through the environment: another one is no reason to make anything again.
rule fetch_entities:
    """Some entities as they stood at the end of that day, with what they need, from Wikidata's API."""
    input:
        ids=lambda wildcards: fetched_entities(wildcards.date)["entities"],
    output:
        output="results/snapshots/{date}/entities.json.gz",
        fetched="results/snapshots/{date}/fetched.parquet",
    log:
        "logs/snapshots/{date}/entities.txt",
    benchmark:
        "logs/snapshots/{date}/entities.tsv"
    localrule: True
    resources:
        **request("snapshots entities"),
    params:
        **given(
            "snapshots entities",
            date="{date}",
            api=config["wikidata_api"],
            store="results/fetched/api",
            with_objects=lambda wildcards: fetched_entities(wildcards.date)["with_objects"],
        ),
    shell:
        job("snapshots entities", without="contact")
