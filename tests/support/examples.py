"""How many examples hypothesis tries: a quarter in everyday runs, all in `.ci/run`."""

import os

SHARE = float(os.environ.get("FACTDRIFT_EXAMPLES", "0.25"))
"""Above 1 to search for longer than any run does."""

LEAST = 3


def examples(number: int) -> int:
    """The share of `number` that this run tries."""
    return max(LEAST, round(number * SHARE))
