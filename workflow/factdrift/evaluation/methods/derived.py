"""Rules that give hyper-parameters to a model which no entry of a method's file names. No torch.

A rule is one of
`share: S`: the block floor(S x number of blocks), or the list of it where the key is a list;
`between: [S, T]`: all blocks from that of share S to that of share T, the last `most` of them at most;
`by_width: {WIDTH: VALUE}`: interpolated on logarithms between these widths of the hidden state to two digits,
and the value of the nearest width beyond them;
`value: V`: V for every model.
"""

import math
from collections.abc import Mapping
from typing import Any

from factdrift.models.names import HasSizes

Rule = Mapping[str, Any]
"""A rule of `derived`, whose form the schema of methods' files has checked."""


def is_for_all(rule: Rule) -> bool:
    """Whether a rule gives every model the same value, so that no sizes are needed."""
    return "value" in rule


def derive(rule: Rule, sizes: HasSizes | None, listed: bool) -> tuple[Any, str]:
    """The value that a rule gives, and what it depends on in words; `listed`: the key is a list of blocks."""
    if is_for_all(rule):
        return rule["value"], ""
    assert sizes is not None
    if "by_width" in rule:
        import numpy as np

        widths, values = zip(*sorted(rule["by_width"].items()), strict=True)
        exponent = np.interp(math.log(sizes.hidden), np.log(widths), np.log(values))
        return float(f"{math.exp(exponent):.1e}"), f" for width {sizes.hidden}"
    if "between" in rule:
        begin, end = (block_at(share, sizes.layers) for share in rule["between"])
        return list(range(max(begin, end + 1 - rule["most"]), end + 1)), f" of {sizes.layers}"
    block = block_at(rule["share"], sizes.layers)
    return [block] if listed else block, f" of {sizes.layers}"


def block_at(share: float, layers: int) -> int:
    """The block before which `share` of the blocks lie, from 0 to `layers` - 1."""
    return min(math.floor(share * layers), layers - 1)
