"""KLoB: sentences on which methods that locate knowledge in a language model are judged.

Inputs: the tables of one snapshot, the templates, noun phrases and relations of the project.
Outputs: results/snapshots/{date}/klob/{bucket}.parquet; results/{pair}/klob/: facts.parquet, chains.parquet or
mquake.parquet, klob_recall.parquet, passes.parquet, klob_examples.parquet, klob_sentences.parquet;
results/{pair}/: klob_c.parquet, klob_r.parquet, klob_u.parquet, klob_meta.json, KLoB-c.jsonl, KLoB-r.jsonl, KLoB-u.jsonl.
"""


include: "inputs/klob.smk"


localrules:
    klob,


rule klob:
    """The three subtasks, each in the published layout too, and the counts of the build."""
    input:
        expand("results/{name}", name=names_for("klob")),


rule klob_facts:
    """The statements of KLoB's relations in one bucket, and which are facts on the snapshot's day."""
    input:
        statements="results/snapshots/{date}/statements/{bucket}.parquet",
        resources=klob_resources(),
    output:
        facts="results/snapshots/{date}/klob/{bucket}.parquet",
    log:
        "logs/snapshots/{date}/klob/{bucket}.txt",
    benchmark:
        "logs/snapshots/{date}/klob/{bucket}.tsv"
    resources:
        **request("klob facts"),
    params:
        code=code("klob facts"),
        settings=klob_settings("second_hop"),
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift klob facts \
            --statements {input.statements:q} \
            --settings {params.settings:q} \
            --date {wildcards.date} \
            --output {output.facts:q}
        """


rule klob_candidates:
    """Facts and chains of two that can be examples, and the reason why others are dropped."""
    input:
        facts=klob_snapshot("klob/{bucket}.parquet"),
        entities=klob_snapshot("entities/{bucket}.parquet"),
        classes=klob_snapshot("classes.parquet"),
        properties=klob_snapshot("properties.parquet"),
        labels=config["labels"],
        resources=klob_resources(),
    output:
        facts="results/{pair}/klob/facts.parquet",
        chains="results/{pair}/klob/chains.parquet",
    log:
        "logs/{pair}/klob/candidates.txt",
    benchmark:
        "logs/{pair}/klob/candidates.tsv"
    resources:
        **request("klob candidates"),
    params:
        code=code("klob candidates"),
        settings=klob_settings(
            "second_hop",
            "page_classes",
            "single_valued",
            "object_words",
            "max_object_words",
            "min_sitelinks",
            "filter",
            "min_pair_support",
            "slice",
            "seed",
        ),
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift klob candidates \
            --facts {input.facts:q} \
            --entities {input.entities:q} \
            --classes {input.classes:q} \
            --properties {input.properties:q} \
            --labels {input.labels:q} \
            --settings {params.settings:q} \
            --out-facts {output.facts:q} \
            --out-chains {output.chains:q}
        """


rule klob_mquake:
    """Chains from a file in MQuAKE's format."""
    input:
        cases=config["klob"]["r"].get("mquake", []),
        resources=klob_resources(),
    output:
        chains="results/{pair}/klob/mquake.parquet",
    log:
        "logs/{pair}/klob/mquake.txt",
    benchmark:
        "logs/{pair}/klob/mquake.tsv"
    resources:
        **request("klob mquake"),
    params:
        code=code("klob mquake"),
        settings=klob_settings("chain_text", "seed"),
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift klob mquake {input.cases:q} \
            --settings {params.settings:q} \
            --output {output.chains:q}
        """


rule klob_recall:
    """Which candidates a language model knows; it is asked until the quotas are full."""
    input:
        facts=klob_snapshot("klob/{bucket}.parquet"),
        entities=klob_snapshot("entities/{bucket}.parquet"),
        classes=klob_snapshot("classes.parquet"),
        properties=klob_snapshot("properties.parquet"),
        labels=config["labels"],
        candidates="results/{pair}/klob/facts.parquet",
        chains=klob_chains(),
        templates=klob_templates(),
        resources=klob_resources(),
        demos=config["klob"]["recall"]["demos"] or [],
        model=klob_model(),
    output:
        recall="results/{pair}/klob/klob_recall.parquet",
        passes="results/{pair}/klob/passes.parquet",
    log:
        "logs/{pair}/klob/recall.txt",
    benchmark:
        "logs/{pair}/klob/recall.tsv"
    threads: config["klob"]["recall"]["threads"]
    resources:
        **growing(32000, config["klob"]["recall"]["runtime"]),
        gpu=0 if config["klob"]["recall"]["device"] == "cpu" else 1,
    params:
        code=code("klob recall"),
        weights=weights_stamp(config["klob"]["recall"].get("model", "")),
        settings=klob_settings(
            "source",
            "c_quota",
            "r_quota",
            "max_pair_share",
            "max_answer_share",
            "chain_text",
            "model",
            "revision",
            "dtype",
            "device",
            "budget",
            "need",
            "demos",
            "slice",
            "seed",
        ),
        date=config["snapshots"][config["klob"]["snapshot"]],
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift klob recall \
            --facts {input.facts:q} \
            --entities {input.entities:q} \
            --classes {input.classes:q} \
            --properties {input.properties:q} \
            --labels {input.labels:q} \
            --candidates {input.candidates:q} \
            --chains {input.chains:q} \
            --templates {input.templates:q} \
            --settings {params.settings:q} \
            --date {params.date} \
            --threads {threads} \
            --out-recall {output.recall:q} \
            --out-passes {output.passes:q}
        """


rule klob_examples:
    """The examples of all subtasks, their sentences, and the counts of what was dropped."""
    input:
        facts=klob_snapshot("klob/{bucket}.parquet"),
        entities=klob_snapshot("entities/{bucket}.parquet"),
        classes=klob_snapshot("classes.parquet"),
        properties=klob_snapshot("properties.parquet"),
        snapshot=klob_snapshot("snapshot.json"),
        labels=config["labels"],
        candidates="results/{pair}/klob/facts.parquet",
        chains=klob_chains(),
        passes=klob_passes(),
        templates=klob_templates(),
        words=klob_word_list(),
        resources=klob_resources(),
    output:
        examples="results/{pair}/klob/klob_examples.parquet",
        sentences="results/{pair}/klob/klob_sentences.parquet",
        meta="results/{pair}/klob_meta.json",
    log:
        "logs/{pair}/klob/examples.txt",
    benchmark:
        "logs/{pair}/klob/examples.tsv"
    group:
        together("klob")
    resources:
        **request("klob examples"),
    params:
        code=code("klob examples"),
        settings=klob_settings(),
        passes=[f"--passes={path}" for path in klob_passes()],
        date=config["snapshots"][config["klob"]["snapshot"]],
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift klob examples \
            --facts {input.facts:q} \
            --entities {input.entities:q} \
            --classes {input.classes:q} \
            --properties {input.properties:q} \
            --labels {input.labels:q} \
            --candidates {input.candidates:q} \
            --chains {input.chains:q} \
            {params.passes:q} \
            --templates {input.templates:q} \
            --settings {params.settings:q} \
            --snapshot {input.snapshot:q} \
            --date {params.date} \
            --out-examples {output.examples:q} \
            --out-sentences {output.sentences:q} \
            --out-meta {output.meta:q}
        """


rule klob_subtask:
    """The examples of one subtask, each with its sentences."""
    input:
        examples="results/{pair}/klob/klob_examples.parquet",
        sentences="results/{pair}/klob/klob_sentences.parquet",
    output:
        dataset="results/{pair}/klob_{subtask}.parquet",
    log:
        "logs/{pair}/klob/klob_{subtask}.txt",
    benchmark:
        "logs/{pair}/klob/klob_{subtask}.tsv"
    wildcard_constraints:
        subtask="[cru]",
    group:
        together("klob")
    resources:
        **request("klob subtask"),
    params:
        code=code("klob subtask"),
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift klob subtask \
            --examples {input.examples:q} \
            --sentences {input.sentences:q} \
            --subtask {wildcards.subtask} \
            --output {output.dataset:q}
        """


rule klob_export:
    """A subtask as JSON Lines in the published layout."""
    input:
        dataset="results/{pair}/klob_{subtask}.parquet",
    output:
        lines="results/{pair}/KLoB-{subtask}.jsonl",
    log:
        "logs/{pair}/klob/KLoB-{subtask}.txt",
    benchmark:
        "logs/{pair}/klob/KLoB-{subtask}.tsv"
    wildcard_constraints:
        subtask="[cru]",
    group:
        together("klob")
    resources:
        **request("klob export"),
    params:
        code=code("klob export"),
    shell:
        r"""
        exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")
        factdrift klob export {input.dataset:q} \
            --output {output.lines:q}
        """
