"""Command-line options that name a model and how it is run, and loading that model."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from factdrift.core.stage_settings import add_settings, read_settings
from factdrift.models.names import ALIASES
from factdrift.models.running import Computing

if TYPE_CHECKING:
    from factdrift.models.loading import Loaded

PART = "edit"
"""The part of the configuration that says how models are run."""


def add_model(verb: argparse.ArgumentParser) -> None:
    """Adds the options that name a model."""
    verb.add_argument("--model", required=True, help="sample, a folder, or a name that transformers knows")
    add_source(verb)
    verb.add_argument(
        "--models", type=Path, default=Path("results/models"), metavar="FOLDER", help="of the bundled models"
    )


def add_source(verb: argparse.ArgumentParser) -> None:
    """Adds the options that say which files of a model are read, and whether code among them is run."""
    verb.add_argument("--revision", default="main")
    verb.add_argument(
        "--trust-remote-code", action="store_true", help="run Python code that comes with the model"
    )


def add_template(verb: argparse.ArgumentParser) -> None:
    """Adds the option that says whether prompts go through the tokenizer's chat template."""
    verb.add_argument(
        "--template",
        choices=("none", "chat"),
        default="none",
        help="chat: prompts are the turn of a user in the tokenizer's chat template (default %(default)s)",
    )


def add_computing(verb: argparse.ArgumentParser, kind: type[Computing] = Computing) -> None:
    """Adds `--settings`, which holds how the model is run, and `--threads`."""
    add_settings(verb, kind, PART)
    verb.add_argument("--threads", type=int, default=1, help="of the CPU (default %(default)s)")


def named(options: argparse.Namespace) -> str:
    """The model of the options as rows of tables name it, without loading it."""
    name: str = options.model
    return ALIASES.get(name, name)


@contextmanager
def loaded(options: argparse.Namespace, computing: Computing | None = None) -> Iterator[Loaded]:
    """The model of the options, on a device that no other job of this machine uses meanwhile.

    `computing`: how it is run, if other settings than Computing are read from the options. With the option
    of `add_template`, its tokenizer is the one for that template.
    """
    if computing is None:
        computing = read_settings(options.settings, Computing, PART)
    import torch

    from factdrift.models.devices import held
    from factdrift.models.loading import load

    torch.set_num_threads(options.threads)
    with held(computing.device, computing.gpus) as device:
        model = load(
            options.model,
            revision=options.revision,
            device=device,
            dtype=computing.dtype,
            folder=options.models,
            trust_remote_code=options.trust_remote_code,
        )
        yield model.with_template(getattr(options, "template", "none"))
