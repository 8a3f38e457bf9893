"""Hyper-parameters of models that no entry names, by the rules `derived` of config/methods/METHOD.yaml.

A rule is one of
`share: S`: the block floor(S x number of blocks), or the list of it where the key is a list;
`between: [S, T]`: all blocks from that of share S to that of share T, the last `most` of them at most;
`by_width: {WIDTH: VALUE}`: interpolated on logarithms between these widths of the hidden state, and the value
of the nearest width beyond them;
`value: V`: V for every model.
"""

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from factdrift.models.names import HasSizes

MARK = "derived, not tuned"
"""Begins the source of hyper-parameters of which at least one was derived."""


def needs_sizes(rule: Mapping[str, Any]) -> bool:
    """Whether a rule depends on the model."""
    return "value" not in rule


def derive(rule: Mapping[str, Any], sizes: HasSizes | None, listed: bool) -> Any:
    """The value that a rule gives; `listed`: the key is a list of blocks. `value` needs no sizes."""
    if "value" in rule:
        return rule["value"]
    assert sizes is not None
    match rule:
        case {"share": share}:
            block = block_at(share, sizes.layers)
            return [block] if listed else block
        case {"between": [first, last], "most": most}:
            end = block_at(last, sizes.layers)
            return list(range(max(block_at(first, sizes.layers), end - most + 1), end + 1))
        case {"by_width": points}:
            return _interpolated(points, sizes.hidden)
    raise ValueError(f"{rule}: no such rule")


def block_at(share: float, layers: int) -> int:
    """The block before which `share` of the blocks lie, from 0 to `layers` - 1."""
    return min(math.floor(share * layers), layers - 1)


def described(key: str, rule: Mapping[str, Any], value: Any, sizes: HasSizes | None) -> str:
    """A derived value in words, such as `layer 5 of 28`."""
    shown = ", ".join(map(str, value)) if isinstance(value, list) else f"{value:g}"
    if sizes is None or not needs_sizes(rule):
        return f"{key} {shown}"
    return (
        f"{key} {shown} for width {sizes.hidden}"
        if "by_width" in rule
        else f"{key} {shown} of {sizes.layers}"
    )


def _interpolated(points: Mapping[int, float], width: int) -> float:
    """The value at a width, to two significant digits."""
    known = sorted(points.items())
    if width <= known[0][0]:
        return known[0][1]
    for (low, before), (high, after) in pairwise(known):
        if width <= high:
            part = math.log(width / low) / math.log(high / low)
            return float(f"{before * (after / before) ** part:.1e}")
    return known[-1][1]
