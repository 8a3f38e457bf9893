"""Options of the commands that run a model, and the model that they name."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from factdrift.models.loading import Loaded


def add_model(verb: argparse.ArgumentParser) -> None:
    """The options that name a model."""
    verb.add_argument("--model", required=True, help="sample, a folder, or a name that transformers knows")
    verb.add_argument("--revision", default="main")
    verb.add_argument(
        "--models", type=Path, default=Path("results/models"), metavar="FOLDER", help="of the bundled models"
    )


def add_computing(verb: argparse.ArgumentParser) -> None:
    """The options that say how it computes."""
    verb.add_argument("--device", default="auto", help="auto: a GPU that is free, else the CPU")
    verb.add_argument("--dtype", default="auto", help="auto: bfloat16 on a GPU, else float32")
    verb.add_argument("--threads", type=int, default=1, help="of the CPU (default %(default)s)")


@contextmanager
def loaded(options: argparse.Namespace) -> Iterator[Loaded]:
    """The model of the options, on a device that is this job's."""
    import torch

    from factdrift.models.devices import held
    from factdrift.models.loading import load

    torch.set_num_threads(options.threads)
    with held(options.device) as device:
        yield load(
            options.model,
            revision=options.revision,
            device=device,
            dtype=options.dtype,
            folder=options.models,
        )
