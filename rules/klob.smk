"""KLoB: sentences on which methods that locate knowledge in a language model are judged.

Inputs: the tables of one snapshot, the templates, noun phrases and relations of the project.
"""


rule klob:
    """The three subtasks, each in the published layout too, and the counts of the build."""
    input:
        expand("results/{name}", name=names_for("klob")),


rule klob_facts:
    """The statements of KLoB's relations in one bucket, and which are facts on the snapshot's day."""
    input:
        statements="results/snapshots/{date}/statements/{bucket}.parquet",
        resources=resources("klob", "words"),
    output:
        "results/snapshots/{date}/klob/{bucket}.parquet",
    shell:
        job("klob facts")


rule klob_candidates:
    """Facts and chains of two, or those of MQuAKE, that can be examples, and the reason why others are dropped."""
    input:
        **klob_tables(),
        cases=config["klob"]["r"]["mquake"] if config["klob"]["r"]["source"] == "mquake" else [],
    output:
        out_facts="results/{pair}/klob/facts.parquet",
        out_chains="results/{pair}/klob/chains.parquet",
    shell:
        job("klob candidates")


rule klob_recall:
    """The candidates that a language model knows; it is asked until the quotas are full."""
    input:
        **klob_choice(),
        demos=config["klob"]["recall"]["demos"] or [],
        model=klob_model(),
    output:
        out_recall="results/{pair}/klob/klob_recall.parquet",
        out_passes="results/{pair}/klob/passes.parquet",
    threads: config["klob"]["recall"]["threads"]
    resources:
        **growing(32000, config["klob"]["recall"]["runtime"]),
        gpu=0 if config["klob"]["recall"]["device"] == "cpu" else 1,
    params:
        date=lambda wildcards: date_of(wildcards, KLOB_SIDE),
    shell:
        job("klob recall", without="models")


rule klob_examples:
    """The examples of all subtasks, their sentences, and the counts of what was dropped."""
    input:
        **klob_choice(),
        snapshot=side("snapshot.json", KLOB_SIDE),
        passes="results/{pair}/klob/passes.parquet" if config["klob"]["recall"]["filter"] == "on" else [],
        words=[] if config["klob"]["u"]["words"] in ("web2", "nltk") else config["klob"]["u"]["words"],
    output:
        out_examples="results/{pair}/klob/klob_examples.parquet",
        out_sentences="results/{pair}/klob/klob_sentences.parquet",
        out_meta="results/{pair}/klob_meta.json",
    group:
        together("klob")
    params:
        date=lambda wildcards: date_of(wildcards, KLOB_SIDE),
    shell:
        job("klob examples")


rule klob_subtask:
    """The examples of one subtask, each with its sentences; also as JSON Lines in the published layout."""
    input:
        examples="results/{pair}/klob/klob_examples.parquet",
        sentences="results/{pair}/klob/klob_sentences.parquet",
    output:
        output="results/{pair}/klob_{subtask}.parquet",
        published="results/{pair}/KLoB-{subtask}.jsonl",
    group:
        together("klob")
    shell:
        job("klob subtask")
