"""`factdrift edit prefixes`: sample texts that ROME and MEMIT put before their prompts."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TypeAlias

from factdrift.core.errors import InputError, Unsupported
from factdrift.edit.run_commands import add_hyper
from factdrift.models.options import add_computing, add_model, loaded

Parsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def register(verbs: Parsers) -> None:
    verb = verbs.add_parser("prefixes", help="sample texts to put before the prompts of rome or memit")
    add_model(verb)
    add_computing(verb)
    verb.add_argument("--method", required=True, help="rome, memit or one of your own")
    add_hyper(verb)
    verb.add_argument("--seed", type=int, default=0)
    verb.add_argument("-o", "--output", type=Path, required=True, metavar="JSON")
    verb.set_defaults(run=_prefixes)


def _prefixes(options: argparse.Namespace) -> None:
    from factdrift.edit.artefacts.prefixes import write_prefixes, write_reason
    from factdrift.edit.methods.hyperparameters import hyper_of

    try:
        with loaded(options) as model:
            hyper = hyper_of(model, options.method, options.set, options.methods)
            if "prefixes" not in hyper:
                raise InputError(f"--method: {hyper.method} has no key `prefixes`; rome and memit have")
            write_prefixes(options.output, model, hyper, options.seed)
    except Unsupported as error:
        print(f"{options.output}: skipped: {error}")
        write_reason(options.output, str(error))
