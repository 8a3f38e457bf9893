"""Switches that each variant of the method sets for itself, unless the configuration sets them."""

from collections.abc import Mapping
from typing import Any, Literal

Variant = Literal["paper", "reference", "revised"]


def switches(config: Mapping[str, Any]) -> dict[str, str]:
    """The switches of the variants, with the variant's own where the configuration leaves it to that.

    `config` may hold some of them only.
    """
    variant = config["variant"]
    own = {
        "dates": "interval" if variant == "revised" else "first_day",
        "objects": "any" if variant == "reference" else "relevant",
        "merges": "detect" if variant == "revised" else "off",
        "leaks": "drop" if variant == "revised" else "keep",
        "grammar": "plain" if variant == "reference" else "fitted",
        "measurements": "dated" if variant == "revised" else "plain",
        "subject_names": "unique" if variant == "revised" else "label",
    }
    return {key: own[key] if config[key] == "variant" else config[key] for key in own if key in config}
