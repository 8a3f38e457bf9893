"""`factdrift edit ability`: a held-out text and tasks, and what the unedited model makes of them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TypeAlias

import msgspec

from factdrift.core.errors import Unsupported
from factdrift.core.stage_settings import read_settings
from factdrift.edit.settings import AbilitySettings
from factdrift.models.options import PART, add_computing, add_model, loaded, named

Parsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def register(verbs: Parsers) -> None:
    verb = verbs.add_parser(
        "ability", help="choose a held-out text for perplexity, and measure it and tasks without any edit"
    )
    for option in ("--edits", "--unaligned"):
        verb.add_argument(option, type=Path, required=True, metavar="PARQUET")
    add_model(verb)
    add_computing(verb, AbilitySettings)
    verb.add_argument("--seed", type=int, default=0, help="of the text that the model writes, and of edits")
    verb.add_argument("-o", "--output", type=Path, required=True, metavar="JSON")
    verb.set_defaults(run=_ability)


def _ability(options: argparse.Namespace) -> None:
    from factdrift.edit.ability import NONE, write_ability

    settings = read_settings(options.settings, AbilitySettings, PART)
    try:
        _measure(options, settings)
    except Unsupported as error:
        print(f"{options.output}: skipped: {error}")
        write_ability(msgspec.structs.replace(NONE, name=named(options)), options.output)


def _measure(options: argparse.Namespace, settings: AbilitySettings) -> None:
    """Writes and prints the ability; raises Unsupported if the model cannot be run."""
    with loaded(options, settings) as model:
        from factdrift.edit.ability import write_ability
        from factdrift.edit.general import make_ability
        from factdrift.edit.probes import read_updates
        from factdrift.models.scoring import budget_of

        budget = budget_of(model) if settings.budget == "auto" else settings.budget
        edits = [update.edit.id for update in read_updates(options.edits, options.unaligned)]
        found = make_ability(model, settings, budget, edits, options.seed)
        write_ability(found, options.output)
        if found.perplexity is not None:
            said = f"perplexity {found.perplexity:.4g} on {found.text}, {found.tokens:,} tokens"
            print(f"{options.output}: {said}")
            if found.tokens < (wanted := settings.ability.tokens):
                print(
                    f"{options.output}: fewer tokens than the {wanted:,} wanted (edit.ability.tokens); more "
                    "text (edit.ability.text) makes the perplexity more exact"
                )
        for task, values in (found.results or {}).items():
            print(f"{options.output}: {task}:", *(f"{name} {value:.4g}" for name, value in values.items()))
