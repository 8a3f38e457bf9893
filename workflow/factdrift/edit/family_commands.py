"""`factdrift edit families`: which methods edit which model families."""

from __future__ import annotations

import argparse
from typing import TypeAlias

Parsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def register(verbs: Parsers) -> None:
    verb = verbs.add_parser(
        "families", help="print which methods edit which model families, tried on tiny models; docs/models.md"
    )
    verb.set_defaults(run=_families)


def _families(options: argparse.Namespace) -> None:
    import torch

    from factdrift.edit.family_table import table

    torch.set_num_threads(1)
    print(table())
