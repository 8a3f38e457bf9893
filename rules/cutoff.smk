"""As of which date each model answers, from the chains of a stream (docs/cutoff.md).

Inputs: the stream, its timelines, the entities of its dumps; answers to `cutoff`, with `answer.chat` those of the chat
model.
"""


rule cutoff_chains:
    """Chains as questions: holders with their days, and the cloze tests that ask for the holder."""
    input:
        stream=f"{STREAM}/stream.parquet",
        timelines=buckets(f"{STREAM}/timelines/{{bucket}}.parquet"),
        entities=stream_entities(),
    output:
        f"{STREAM}/cutoff/chains.parquet",
    params:
        dates=STREAM_DATES,
    shell:
        job("cutoff chains")


rule cutoff_dates:
    """The date of each model with its interval, and the figure."""
    input:
        chains=f"{STREAM}/cutoff/chains.parquet",
        answers=[
            *answered("cutoff", unedited, "answers.parquet", STREAM),
            *read_of_chat("cutoff", root=PAIR),
        ],
        words=READ,
    output:
        output=f"{STREAM}/cutoff.parquet",
        out_answers=f"{STREAM}/cutoff_answers.parquet",
        figure=f"{STREAM}/cutoff.svg",
    params:
        dates=STREAM_DATES,
    shell:
        job("cutoff dates")
