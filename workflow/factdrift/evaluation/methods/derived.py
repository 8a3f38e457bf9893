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
from typing import Any, NamedTuple

from factdrift.models.names import HasSizes


class Value(NamedTuple):
    """The same value for every model."""

    value: Any


class Share(NamedTuple):
    """The block before which a share of the blocks lie."""

    share: float


class Between(NamedTuple):
    """All blocks from that of one share to that of another, the last `most` of them at most."""

    first: float
    last: float
    most: int | None


class ByWidth(NamedTuple):
    """Interpolated on logarithms between widths of the hidden state."""

    values: Mapping[int, float]


Rule = Value | Share | Between | ByWidth


def rule_of(entry: Mapping[str, Any]) -> Rule:
    """A rule of `derived`, whose form the schema of methods' files has checked."""
    if "value" in entry:
        return Value(entry["value"])
    if "by_width" in entry:
        return ByWidth(entry["by_width"])
    if "between" in entry:
        first, last = entry["between"]
        return Between(first, last, entry.get("most"))
    return Share(entry["share"])


def derive(rule: Rule, sizes: HasSizes | None, listed: bool) -> tuple[Any, str]:
    """The value that a rule gives, and what it depends on in words; `listed`: the key is a list of blocks."""
    if isinstance(rule, Value):
        return rule.value, ""
    assert sizes is not None
    match rule:
        case ByWidth(by_width):
            import numpy as np

            widths, values = zip(*sorted(by_width.items()), strict=True)
            exponent = np.interp(math.log(sizes.hidden), np.log(widths), np.log(values))
            return float(f"{math.exp(exponent):.1e}"), f" for width {sizes.hidden}"
        case Share(share):
            block = block_at(share, sizes.layers)
            return [block] if listed else block, f" of {sizes.layers}"
        case Between(first, last, most):
            end = block_at(last, sizes.layers)
            begin = block_at(first, sizes.layers)
            if most is not None:
                begin = max(begin, end + 1 - most)
            return list(range(begin, end + 1)), f" of {sizes.layers}"


def block_at(share: float, layers: int) -> int:
    """The block before which `share` of the blocks lie, from 0 to `layers` - 1."""
    return min(math.floor(share * layers), layers - 1)
