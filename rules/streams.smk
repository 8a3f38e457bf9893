"""A sequence of dates: the updates of all consecutive pairs, linked to chains (docs/streams.md).

Inputs: labelled updates and the dataset of each pair, all statements of each dump, the last one's rows for TempRIPPLE.
{name} says the first and the last date and their number, with a hash of all dates.
"""


include: "inputs/streams.smk"


rule stream_chains:
    """The updates of each subject and relation of one bucket in all intervals, linked, and the time of its values."""
    input:
        updates=of_intervals("updates/{bucket}.parquet"),
        new_entities=of_intervals("new_entities/{bucket}.parquet"),
        statements=of_dumps("filtered", "{bucket}.parquet"),
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
    """The updates of all intervals in one table, and by month and scenario."""
    input:
        datasets=of_intervals("wikifactdiff.parquet"),
        chains=buckets(f"{STREAM}/chains/{{bucket}}.parquet"),
    output:
        output=f"{STREAM}/stream.parquet",
        figure=f"{STREAM}/stream.svg",
    params:
        dates=STREAM_DATES,
    shell:
        job("streams assemble")


rule stream_questions:
    """Questions about facts on a date, as all statements of the chains prove them."""
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


rule known:
    """The timelines of all buckets with labels, the lateness of the dumps, and how long values hold."""
    input:
        known=buckets(f"{STREAM}/known/{{bucket}}.parquet"),
        entities=stream_entities(),
        labels=config["labels"],
        properties=f"{LAST}/properties.parquet",
    output:
        output=f"{STREAM}/known.parquet",
        report=f"{STREAM}/known.txt",
        half_life=f"{STREAM}/half_life.parquet",
        figure=f"{STREAM}/half_life.svg",
    params:
        dates=STREAM_DATES,
    shell:
        job("streams known")


rule corpus_subjects:
    """The subjects of the corpus: updated ones, their objects, entities near them, namesakes."""
    input:
        stream=f"{STREAM}/stream.parquet",
        entities=buckets(f"{LAST}/entities/{{bucket}}.parquet"),
    output:
        f"{STREAM}/corpus/subjects.parquet",
    shell:
        job("streams subjects")


rule corpus_facts:
    """The facts about the corpus's subjects in a bucket that the dumps up to each date prove."""
    input:
        known=f"{STREAM}/known/{{bucket}}.parquet",
        subjects=f"{STREAM}/corpus/subjects.parquet",
        statements=of_dumps("filtered", "{bucket}.parquet"),
        relations=of_intervals("context/new/relations.parquet")[-1],
        filters=resource("filters.tsv"),
    output:
        f"{STREAM}/corpus/facts/{{bucket}}.parquet",
    params:
        dates=STREAM_DATES,
    shell:
        job("streams facts")


rule corpus:
    """Dated documents, with a version for every dump at which the text changed."""
    input:
        subjects=f"{STREAM}/corpus/subjects.parquet",
        facts=buckets(f"{STREAM}/corpus/facts/{{bucket}}.parquet"),
        entities=stream_entities(),
        labels=config["labels"],
        words=resources("words", "templates"),
    output:
        f"{STREAM}/corpus.parquet",
    params:
        dates=STREAM_DATES,
    shell:
        job("streams corpus")


rule corpus_questions:
    """Questions about the corpus, with right and stale answers by the dumps up to each date."""
    input:
        corpus=f"{STREAM}/corpus.parquet",
        subjects=f"{STREAM}/corpus/subjects.parquet",
        facts=buckets(f"{STREAM}/corpus/facts/{{bucket}}.parquet"),
        entities=stream_entities(),
        labels=config["labels"],
        words=resources("words", "tempripple"),
    output:
        f"{STREAM}/corpus_questions.parquet",
    params:
        dates=STREAM_DATES,
    shell:
        job("streams corpus-questions")


rule retrieval:
    """How well retrievers find the right version of a document."""
    input:
        corpus=f"{STREAM}/corpus.parquet",
        questions=f"{STREAM}/corpus_questions.parquet",
        runs=[*config["corpus"]["runs"].values()],
    output:
        output=f"{STREAM}/retrieval.parquet",
        retrieved=f"{STREAM}/retrieved.parquet",
        report=f"{STREAM}/retrieval.txt",
    params:
        names=[*config["corpus"]["runs"]],
    shell:
        job("memory retrieve")
