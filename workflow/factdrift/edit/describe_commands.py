"""`factdrift models describe`: a model, and what the editing methods edit in it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from factdrift.models.options import add_source

if TYPE_CHECKING:
    from factdrift.models.families import ModelSpec

Parsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"

FOLDER = Path("results/models")
"""The folder of the bundled models, relative to the folder in which the workflow runs."""


def register(commands: Parsers) -> None:
    """Adds the verb to `models`, which must be there."""
    actions = commands.choices["models"]._actions
    verbs = next(action for action in actions if isinstance(action, argparse._SubParsersAction))
    describe = verbs.add_parser(
        "describe", help="family, sizes and edited matrices of a model, and what is not supported"
    )
    describe.add_argument(
        "model", help="sample, sample-gpt2, or the folder or name of a causal language model"
    )
    add_source(describe)
    describe.add_argument("--folder", type=Path, default=FOLDER, help="of the bundled models")
    describe.set_defaults(run=_describe)


def _describe(options: argparse.Namespace) -> None:
    from factdrift.edit.methods.roles import anywhere, refused, role
    from factdrift.models.describe import Lines, describe

    def more(spec: ModelSpec) -> Lines:
        return [*anywhere(), *(("not supported", reason) for reason in refused(spec))]

    source = (options.revision, options.folder, options.trust_remote_code)
    print(describe(options.model, role, more, *source))
