"""As of which date each model answers, from the chains of a stream (docs/cutoff.md).

Inputs: the stream, its timelines, the entities of its dumps; the models.
Outputs: results/streams/{name}/: cutoff/chains.parquet, cutoff/of/{model}.parquet, cutoff.parquet, cutoff_answers.parquet,
cutoff.svg; the last three also in results/.
"""


rule cutoff_chains:
    """Chains as questions: who held when, and the cloze tests that ask for the holder."""
    input:
        stream=f"{STREAM}/stream.parquet",
        timelines=buckets(f"{STREAM}/timelines/{{bucket}}.parquet"),
        entities=[
            path
            for date in STREAM_DATES
            for path in buckets(f"results/snapshots/{date}/entities/{{bucket}}.parquet")
        ],
    output:
        f"{STREAM}/cutoff/chains.parquet",
    log:
        f"logs/streams/{STREAM_NAME}/cutoff/chains.txt",
    benchmark:
        f"logs/streams/{STREAM_NAME}/cutoff/chains.tsv"
    resources:
        **request("answer chains"),
    params:
        **given("answer chains", dates=STREAM_DATES),
    shell:
        job("answer chains")


rule cutoff_holders:
    """Asks a model who holds."""
    input:
        chains=f"{STREAM}/cutoff/chains.parquet",
        model=edited_model,
    output:
        f"{STREAM}/cutoff/of/{{edited}}.parquet",
    log:
        f"logs/streams/{STREAM_NAME}/cutoff/of/{{edited}}.txt",
    benchmark:
        f"logs/streams/{STREAM_NAME}/cutoff/of/{{edited}}.tsv"
    threads: config["edit"]["threads"]
    resources:
        **of_a_model(),
    params:
        **given("answer holders", **MODEL_PARAMS),
    shell:
        job("answer holders")


rule cutoff_dates:
    """The date of each model with its interval, and the figure."""
    input:
        models=some_models,
        answers=[f"{STREAM}/cutoff/of/{folder}.parquet" for folder in edited_models()],
    output:
        output=f"{STREAM}/cutoff.parquet",
        out_answers=f"{STREAM}/cutoff_answers.parquet",
        figure=f"{STREAM}/cutoff.svg",
    log:
        f"logs/streams/{STREAM_NAME}/cutoff.txt",
    benchmark:
        f"logs/streams/{STREAM_NAME}/cutoff.tsv"
    resources:
        **request("answer dates"),
    params:
        **given("answer dates", dates=STREAM_DATES),
    shell:
        job("answer dates")
