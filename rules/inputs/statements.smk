"""The shards of a dump, and the languages of which labels are kept."""


def shards(wildcards):
    """The tables of all shards of a dump."""
    return expand(
        "results/snapshots/{date}/shards/{shard}-of-{shards}x{buckets}",
        date=wildcards.date,
        shard=range(SHARDS),
        shards=SHARDS,
        buckets=BUCKETS,
    )


def other_languages():
    """The languages besides English of which a snapshot keeps labels."""
    return sorted(set(config["languages"]) - {"en"})
