"""Dump files of the two dates.

Inputs: the tables of the bundled sample, or the user's own dump, which is read where it lies, or servers, or a list of
entities to fetch.
"""

from factdrift.core.settings import derived_from


include: "inputs/snapshots.smk"


rule download_dump:
    """A dump from its server. The received part is in OUTPUT.part and survives a failed job."""
    output:
        "results/snapshots/{date}/wikidata.{suffix}",
    wildcard_constraints:
        suffix=r"jsonl?(\.(gz|bz2|zst))?",
        # A server may have lost the dump of a released date, so it is not fetched in the place of the one here.
        date=none_of(RELEASED_DATES) + DATE,
    localrule: True
    resources:
        download=1,
    params:
        code=None,  # no fingerprint: a change of the code is no reason to fetch 100 GB again
        when="{date}",
        url=lambda wildcards: own_address(dump_source(config, wildcards.date)),
    shell:
        job("snapshots download", without="registry contact tries")


rule download_pageviews:
    """A month of page views of the English Wikipedia, filtered while it streams and never stored whole."""
    output:
        "results/fetched/pageviews/{month}.parquet",
    wildcard_constraints:
        month=r"\d{4}-\d{2}",
    localrule: True
    resources:
        download=1,
    params:
        code=None,
        when="{month}",
        url=own_address(config["pageviews"]),
    shell:
        job("snapshots download", without="registry contact tries")


rule render_sample:
    """The bundled facts as Wikidata's dump of that date would have stated them."""
    input:
        facts=sorted(str(path) for path in Path(resource("sample")).rglob("*.tsv")),
    output:
        output="results/snapshots/{date}/sample.json.gz",
        account="results/snapshots/{date}/sample.account.json",
    shell:
        job("sample render", without="tables")


# Of full dumps that takes minutes, which nothing but the manifest needs, and each pair of their dates would take again.
rule checksum_dump:
    """Name, size and checksum of a dump, for the manifests of its pairs."""
    input:
        dump=lambda wildcards: dump_file(wildcards.date),
    output:
        "results/snapshots/{date}/checksum.json",
    shell:
        job("snapshots checksum", without="kind")


rule derive_dump:
    """An approximate dump of that date, from the other date's, because the real one is not available."""
    input:
        dump=lambda wildcards: dump_file(derived_from(config, wildcards.date)),
    output:
        "results/snapshots/{date}/derived.json.gz",
    shell:
        job("snapshots derive")


# The contact comes through the environment: another one is no reason to make anything again.
rule fetch_entities:
    """Some entities as of the end of that day, with everything that they need, from Wikidata's API."""
    input:
        ids=lambda wildcards: fetched_entities(wildcards.date)["entities"],
    output:
        output="results/snapshots/{date}/entities.json.gz",
        fetched="results/snapshots/{date}/fetched.parquet",
    localrule: True
    params:
        date="{date}",
        api=config["wikidata_api"],
        store="results/fetched/api",
        with_objects=lambda wildcards: fetched_entities(wildcards.date)["with_objects"],
    shell:
        job("snapshots entities", without="contact")
