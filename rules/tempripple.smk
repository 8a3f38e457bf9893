"""TempRIPPLE: questions about what changed in a period, what it was before, and what follows from either.

Inputs: the tables of the snapshot of T_new, or a SPARQL server.
Outputs: results/snapshots/{date}/tempripple/: rows and classes, rdf.nt.gz and database; results/{pair}/tempripple/: tr_facts.parquet,
tr_related.parquet, tr_items.parquet, tr_dropped.parquet, tr_stats.json, tr_stats.md; the configured pair's items and
statistics as results/tempripple.parquet and results/tempripple.stats.json.
"""

from factdrift.tempripple.method import ItemMethod, Method, settings_json


include: "inputs/tempripple.smk"


rule tempripple_rows:
    """The statements and classes of one bucket that TempRIPPLE needs."""
    input:
        statements="results/snapshots/{date}/statements/{bucket}.parquet",
        entities="results/snapshots/{date}/entities/{bucket}.parquet",
        mutable=resource("tempripple/mutable.tsv"),
        resources=resources("tempripple"),
    output:
        rows="results/snapshots/{date}/tempripple/rows/{bucket}.parquet",
        classes="results/snapshots/{date}/tempripple/classes/{bucket}.parquet",
    log:
        "logs/snapshots/{date}/tempripple/{bucket}.txt",
    benchmark:
        "logs/snapshots/{date}/tempripple/{bucket}.tsv"
    resources:
        **request("tempripple rows"),
    params:
        code=code("tempripple rows"),
        resources=subpath(input.mutable, parent=True),
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift tempripple rows \
            --statements {input.statements:q} \
            --entities {input.entities:q} \
            --resources {params.resources:q} \
            --rows {output.rows:q} \
            --classes {output.classes:q}
        """


rule tempripple_rdf:
    """The part of a snapshot that TempRIPPLE queries, as RDF in Wikidata's vocabulary."""
    input:
        statements=buckets("results/snapshots/{date}/statements/{bucket}.parquet"),
        entities=buckets("results/snapshots/{date}/entities/{bucket}.parquet"),
        properties="results/snapshots/{date}/properties.parquet",
        mutable=resource("tempripple/mutable.tsv"),
        resources=resources("tempripple"),
    output:
        rdf="results/snapshots/{date}/tempripple/rdf.nt.gz",
    log:
        "logs/snapshots/{date}/tempripple/rdf.txt",
    benchmark:
        "logs/snapshots/{date}/tempripple/rdf.tsv"
    threads: 2
    resources:
        **request("rdf"),
    params:
        code=code("rdf"),
        resources=subpath(input.mutable, parent=True),
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift rdf \
            --statements {input.statements:q} \
            --entities {input.entities:q} \
            --properties {input.properties:q} \
            --resources {params.resources:q} \
            --threads {threads} \
            --output {output.rdf:q}
        """


rule tempripple_database:
    """The RDF, loaded into the database of the local SPARQL server."""
    input:
        rdf="results/snapshots/{date}/tempripple/rdf.nt.gz",
    output:
        database=directory("results/snapshots/{date}/tempripple/database"),
    log:
        "logs/snapshots/{date}/tempripple/database.txt",
    benchmark:
        "logs/snapshots/{date}/tempripple/database.tsv"
    threads: 2
    resources:
        **request("tempripple load"),
    params:
        code=code("tempripple load"),
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift tempripple load {input.rdf:q} --output {output.database:q}
        """


rule tempripple_facts:
    """What changed in the period, and what it was before."""
    input:
        **ripple_source(),
        labels=config["labels"],
        mutable=resource("tempripple/mutable.tsv"),
        resources=resources("tempripple"),
    output:
        facts="results/{pair}/tempripple/tr_facts.parquet",
        dropped="results/{pair}/tempripple/facts_dropped.parquet",
        account="results/{pair}/tempripple/facts.json",
    log:
        "logs/{pair}/tempripple/facts.txt",
    benchmark:
        "logs/{pair}/tempripple/facts.tsv"
    threads: 2
    resources:
        **request("tempripple facts"),
    params:
        code=code("tempripple facts"),
        settings=settings_json(config, Method),
        resources=subpath(input.mutable, parent=True),
        source=ripple_source_options,
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift tempripple facts \
            {params.source:q} \
            --labels {input.labels:q} \
            --resources {params.resources:q} \
            --settings {params.settings:q} \
            --threads {threads} \
            --facts {output.facts:q} \
            --dropped {output.dropped:q} \
            --account {output.account:q}
        """


rule tempripple_related:
    """What follows from the mutable facts over up to three hops of immutable ones."""
    input:
        **ripple_source(),
        facts="results/{pair}/tempripple/tr_facts.parquet",
        labels=config["labels"],
        mutable=resource("tempripple/mutable.tsv"),
        resources=resources("tempripple"),
    output:
        related="results/{pair}/tempripple/tr_related.parquet",
        dropped="results/{pair}/tempripple/related_dropped.parquet",
        account="results/{pair}/tempripple/related.json",
    log:
        "logs/{pair}/tempripple/related.txt",
    benchmark:
        "logs/{pair}/tempripple/related.tsv"
    threads: 2
    resources:
        **request("tempripple related"),
    params:
        code=code("tempripple related"),
        settings=settings_json(config, Method),
        resources=subpath(input.mutable, parent=True),
        source=ripple_source_options,
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift tempripple related \
            --facts {input.facts:q} \
            {params.source:q} \
            --labels {input.labels:q} \
            --resources {params.resources:q} \
            --settings {params.settings:q} \
            --threads {threads} \
            --related {output.related:q} \
            --dropped {output.dropped:q} \
            --account {output.account:q}
        """


rule tempripple_items:
    """A question about every fact and related fact, with four options where there are enough values."""
    input:
        facts="results/{pair}/tempripple/tr_facts.parquet",
        related="results/{pair}/tempripple/tr_related.parquet",
    output:
        tr_items="results/{pair}/tempripple/tr_items.parquet",
    log:
        "logs/{pair}/tempripple/items.txt",
    benchmark:
        "logs/{pair}/tempripple/items.tsv"
    group:
        together("tempripple")
    resources:
        **request("tempripple items"),
    params:
        code=code("tempripple items"),
        settings=settings_json(config, ItemMethod),
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift tempripple items \
            --facts {input.facts:q} \
            --related {input.related:q} \
            --settings {params.settings:q} \
            --output {output.tr_items:q}
        """


rule tempripple_account:
    """Statistics, and everything that was dropped, with the reason."""
    input:
        **ripple_origin(),
        facts="results/{pair}/tempripple/tr_facts.parquet",
        related="results/{pair}/tempripple/tr_related.parquet",
        tr_items="results/{pair}/tempripple/tr_items.parquet",
        dropped=expand(
            "results/{{pair}}/tempripple/{job}_dropped.parquet",
            job=["facts", "related"],
        ),
        accounts=expand("results/{{pair}}/tempripple/{job}.json", job=["facts", "related"]),
        mutable=resource("tempripple/mutable.tsv"),
        resources=resources("tempripple"),
    output:
        dropped="results/{pair}/tempripple/tr_dropped.parquet",
        stats="results/{pair}/tempripple/tr_stats.json",
        markdown="results/{pair}/tempripple/tr_stats.md",
    log:
        "logs/{pair}/tempripple/account.txt",
    benchmark:
        "logs/{pair}/tempripple/account.tsv"
    group:
        together("tempripple")
    resources:
        **request("tempripple account"),
    params:
        code=code("tempripple account"),
        settings=settings_json(config, ItemMethod),
        resources=subpath(input.mutable, parent=True),
        origin=ripple_origin_options,
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift tempripple account \
            --facts {input.facts:q} \
            --related {input.related:q} \
            --items {input.tr_items:q} \
            --dropped {input.dropped:q} \
            --accounts {input.accounts:q} \
            {params.origin:q} \
            --resources {params.resources:q} \
            --settings {params.settings:q} \
            --all-dropped {output.dropped:q} \
            --json {output.stats:q} \
            --markdown {output.markdown:q}
        """
