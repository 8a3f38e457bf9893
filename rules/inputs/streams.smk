"""The dates of the sequence, and the pairs that they make."""

import hashlib

# Without a sequence the configured pair is one.
STREAM_DATES = config["stream"] or [OLD, NEW]

# All dates would be too long for the name of a folder.
STREAM_HASH = hashlib.sha256(" ".join(STREAM_DATES).encode()).hexdigest()[:8]
STREAM_NAME = f"{STREAM_DATES[0]}_{STREAM_DATES[-1]}_{len(STREAM_DATES)}_{STREAM_HASH}"
STREAM = f"results/streams/{STREAM_NAME}"
LAST = f"results/snapshots/{STREAM_DATES[-1]}"


def stream_entities():
    """The items of all dumps of the stream, the newest last."""
    return buckets([f"results/snapshots/{date}/entities/{{bucket}}.parquet" for date in STREAM_DATES])


def of_intervals(path):
    """A file of each pair of consecutive dates, in their order."""
    return [f"results/{old}_{new}/{path}" for old, new in pairwise(STREAM_DATES)]


def of_dumps(folder, file):
    """A file of each date, in their order, in a folder that has the sides of each pair."""
    return [*of_intervals(f"{folder}/old/{file}")[:1], *of_intervals(f"{folder}/new/{file}")]
