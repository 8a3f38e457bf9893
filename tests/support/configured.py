"""A configuration as the workflow completes it."""

from typing import Any

from factdrift.core.settings import configure
from factdrift.evaluation.methods.own import keys_of_methods


def configured(**keys: Any) -> dict[str, Any]:
    """The configuration with these keys and all defaults. Raises InputError as the workflow does."""
    config = {"snapshots": {"old": "2021-01-04", "new": "2023-02-27"}, **keys}
    configure(config, keys_of_methods)
    return config
