"""A sequence of dates: the updates of all consecutive pairs, linked to chains (docs/streams.md).

Inputs: labelled updates and the dataset of each pair, all statements of each dump, the last one's rows for TempRIPPLE.
{name} says the first and the last date and their number, with a hash of all dates.
"""


include: "inputs/streams.smk"


rule stream_chains:
    """The updates of each subject and relation of one bucket in all intervals, linked, and when its values held."""
    input:
        updates=of_intervals("updates/{bucket}.parquet"),
        new_entities=of_intervals("new_entities/{bucket}.parquet"),
        statements=[
            *of_intervals("filtered/old/{bucket}.parquet")[:1],
            *of_intervals("filtered/new/{bucket}.parquet"),
        ],
        filters=resource("filters.tsv"),
    output:
        output=f"{STREAM}/chains/{{bucket}}.parquet",
        timelines=f"{STREAM}/timelines/{{bucket}}.parquet",
        known=f"{STREAM}/known/{{bucket}}.parquet",
    params:
        dates=STREAM_DATES,
    shell:
        job("streams chains")


rule stream:
    """The updates of all intervals in one table."""
    input:
        datasets=of_intervals("wikifactdiff.parquet"),
        chains=buckets(f"{STREAM}/chains/{{bucket}}.parquet"),
    output:
        f"{STREAM}/stream.parquet",
    params:
        dates=STREAM_DATES,
    shell:
        job("streams assemble")


rule stream_questions:
    """Questions about what held on a date, from what all statements of the chains prove."""
    input:
        stream=f"{STREAM}/stream.parquet",
        timelines=buckets(f"{STREAM}/timelines/{{bucket}}.parquet"),
        rows=buckets(f"{LAST}/tempripple/rows/{{bucket}}.parquet"),
        classes=buckets(f"{LAST}/tempripple/classes/{{bucket}}.parquet"),
        entities=buckets(f"{LAST}/entities/{{bucket}}.parquet"),
        properties=f"{LAST}/properties.parquet",
        words=resources("words"),
    output:
        f"{STREAM}/asof.parquet",
    params:
        dates=STREAM_DATES,
    shell:
        job("streams asof")


rule stream_figure:
    """The updates of each month by scenario."""
    input:
        stream=f"{STREAM}/stream.parquet",
    output:
        f"{STREAM}/stream.svg",
    params:
        dates=STREAM_DATES,
    shell:
        job("streams figure")
