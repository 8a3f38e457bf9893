"""As of which date each model answers, from the chains of a stream (docs/cutoff.md).

Inputs: the stream, its timelines, the entities of its dumps; the models; with `answer.chat` the chat model.
"""


rule cutoff_chains:
    """Chains as questions: who held when, and the cloze tests that ask for the holder."""
    input:
        stream=f"{STREAM}/stream.parquet",
        timelines=buckets(f"{STREAM}/timelines/{{bucket}}.parquet"),
        entities=stream_entities(),
    output:
        f"{STREAM}/cutoff/chains.parquet",
    log:
        f"logs/streams/{STREAM_NAME}/cutoff/chains.txt",
    params:
        dates=STREAM_DATES,
    shell:
        job("answer chains")


rule cutoff_holders:
    """Asks a model who holds: log-likelihoods, or what it writes."""
    input:
        chains=f"{STREAM}/cutoff/chains.parquet",
        model=edited_model,
        words=READ,
    output:
        f"{STREAM}/cutoff/{{way}}/{{edited}}.parquet",
    log:
        f"logs/streams/{STREAM_NAME}/cutoff/{{way}}/{{edited}}.txt",
    wildcard_constraints:
        way="likelihood|written",
    threads: config["edit"]["threads"]
    resources:
        **of_a_model(),
    params:
        **MODEL_PARAMS,
    shell:
        job("answer holders")


rule cutoff_requests:
    """What the chat model is asked: letters of the holders in two rotated orders, or a name."""
    input:
        chains=f"{STREAM}/cutoff/chains.parquet",
    output:
        f"{PAIR}/cutoff/{{way}}/requests.parquet",
    log:
        f"logs/streams/{STREAM_NAME}/cutoff/{{way}}.requests.txt",
    shell:
        job("answer holders-requests")


rule cutoff_read:
    """Who holds, by the answers of the chat model."""
    input:
        chains=f"{STREAM}/cutoff/chains.parquet",
        answers=f"{PAIR}/cutoff/{{way}}/answers.parquet",
        words=READ,
    output:
        f"{PAIR}/cutoff/{{way}}/read.parquet",
    log:
        f"logs/streams/{STREAM_NAME}/cutoff/{{way}}.read.txt",
    shell:
        job("answer holders-read")


rule cutoff_dates:
    """The date of each model with its interval, and the figure."""
    input:
        answers=cutoff_files(),
    output:
        output=f"{STREAM}/cutoff.parquet",
        out_answers=f"{STREAM}/cutoff_answers.parquet",
        figure=f"{STREAM}/cutoff.svg",
    log:
        f"logs/streams/{STREAM_NAME}/cutoff.txt",
    params:
        dates=STREAM_DATES,
    shell:
        job("answer dates")
