"""TempRIPPLE: questions about what changed in a period, what it was before, and what follows from either.

Inputs: the tables of the snapshot of T_new, or a SPARQL server.
"""


rule tempripple_rows:
    """The statements and classes of one bucket that TempRIPPLE needs."""
    input:
        statements="results/snapshots/{date}/statements/{bucket}.parquet",
        entities="results/snapshots/{date}/entities/{bucket}.parquet",
        resources=resources("tempripple", "words"),
    output:
        rows="results/snapshots/{date}/tempripple/rows/{bucket}.parquet",
        classes="results/snapshots/{date}/tempripple/classes/{bucket}.parquet",
    shell:
        job("tempripple rows", without="resources")


rule tempripple_database:
    """The part of a snapshot that TempRIPPLE queries, as RDF, and the database of the local SPARQL server."""
    input:
        statements=buckets("results/snapshots/{date}/statements/{bucket}.parquet"),
        entities=buckets("results/snapshots/{date}/entities/{bucket}.parquet"),
        properties="results/snapshots/{date}/properties.parquet",
        resources=resources("tempripple", "words"),
    output:
        output="results/snapshots/{date}/tempripple/rdf.nt.gz",
        database=directory("results/snapshots/{date}/tempripple/database"),
    threads: 2
    shell:
        job("tempripple rdf", without="resources")


rule tempripple_facts:
    """The facts that changed in the period, and the earlier ones."""
    input:
        **ripple_source(),
    output:
        facts="results/{pair}/tempripple/tr_facts.parquet",
        dropped="results/{pair}/tempripple/facts_dropped.parquet",
        account="results/{pair}/tempripple/facts.json",
    threads: 2
    params:
        answers="results/fetched/sparql" if public_endpoint() else [],
    shell:
        job("tempripple facts", without="resources")


rule tempripple_related:
    """The facts that follow from the mutable ones over up to three hops of immutable ones."""
    input:
        **ripple_source(),
        facts="results/{pair}/tempripple/tr_facts.parquet",
    output:
        related="results/{pair}/tempripple/tr_related.parquet",
        dropped="results/{pair}/tempripple/related_dropped.parquet",
        account="results/{pair}/tempripple/related.json",
    threads: 2
    params:
        answers="results/fetched/sparql" if public_endpoint() else [],
    shell:
        job("tempripple related", without="resources")


rule tempripple_items:
    """A question about every fact and related fact; statistics, and everything that was dropped, with the reason."""
    input:
        facts="results/{pair}/tempripple/tr_facts.parquet",
        related="results/{pair}/tempripple/tr_related.parquet",
        dropped=expand("results/{{pair}}/tempripple/{job}_dropped.parquet", job=["facts", "related"]),
        accounts=expand("results/{{pair}}/tempripple/{job}.json", job=["facts", "related"]),
        snapshot=[] if public_endpoint() else side("snapshot.json", "new"),
        resources=resources("tempripple", "words"),
    output:
        output="results/{pair}/tempripple/tr_items.parquet",
        all_dropped="results/{pair}/tempripple/tr_dropped.parquet",
        json="results/{pair}/tempripple/tr_stats.json",
    params:
        endpoint=public_endpoint(),
    shell:
        job("tempripple items", without="resources")
