"""`factdrift <stage> <verb>`: every job of the workflow, and the tools for users, as commands.

The modules of COMMANDS declare them (`factdrift.core.jobs`); what a command needs is imported only when it
runs.
"""

import argparse
import importlib
import os
import sys
from pathlib import Path
from typing import Any

from factdrift.core import disk, memory
from factdrift.core.errors import DAMAGED, DamagedDump, InputError
from factdrift.core.jobs import JOBS, Job, add_job, record, summary

COMMANDS = {
    "sample": ("snapshots.jobs", "the bundled sample of dated facts"),
    "snapshots": ("snapshots.jobs", "dumps derived from a newer one, or fetched by the API"),
    "dumps": ("snapshots.download_jobs", "Wikidata's dumps: list, check, download"),
    "pageviews": ("snapshots.download_jobs", "monthly page views of the English Wikipedia"),
    "statements": ("statements.jobs", "a dump as tables"),
    "updates": ("updates.jobs", "difference two snapshots and label what changed"),
    "neighbors": ("neighbors.jobs", "facts about similar entities, and random facts"),
    "verbalize": ("verbalize.jobs", "sentence templates for relations, literals in words"),
    "wikifactdiff": ("wikifactdiff.jobs", "the datasets, their statistics and their origin"),
    "show": ("wikifactdiff.jobs", ""),
    "ripples": ("ripples.jobs", "what follows from updates, what must stay, and what was true before"),
    "streams": ("streams.jobs", "the updates of a sequence of dates, linked to chains"),
    "recent": ("snapshots.recent.jobs", ""),
    "klob": ("klob.jobs", "sentences on which locating methods are judged (KLoB)"),
    **dict.fromkeys(
        (f"klob {verb}" for verb in ("import", "templates", "score", "locate")), ("klob.tools", "")
    ),
    "tempripple": ("tempripple.jobs", "what changed, what it was, and what follows"),
    "rdf": ("tempripple.jobs", ""),
    "sparql": ("tempripple.jobs", ""),
    "models": ("models.jobs", "language models: descriptions, second moments, the bundled sample models"),
    "models describe": ("evaluation.tools.jobs", ""),
    "edit": ("evaluation.jobs", "editing methods on language models: edits, scores, others' layouts"),
    **dict.fromkeys(
        (f"edit {verb}" for verb in ("scores", "table", "figures", "stream-scores", "stream-report")),
        ("evaluation.scores.jobs", ""),
    ),
    **dict.fromkeys(
        (f"edit {verb}" for verb in ("try", "export-adapter", "probe", "tune", "families")),
        ("evaluation.tools.jobs", ""),
    ),
    "locate": ("evaluation.locators.jobs", "locating methods on language models: run and compare them"),
    "locate against-edits": ("evaluation.scores.jobs", ""),
    "answer": ("evaluation.scores.jobs", "answers of models to questions: requests, scores, tables"),
    "answer requests": ("evaluation.jobs", ""),
    "answer read": ("evaluation.jobs", ""),
    "answer lm-eval": ("evaluation.tools.jobs", ""),
    "answer taught": ("evaluation.tools.jobs", ""),
    "evaluate": ("evaluation.jobs", ""),
    "ask": ("evaluation.tools.jobs", ""),
    "chat": ("chat.jobs", "ask a chat model; keep, export and import its answers"),
    "estimate": ("runs.jobs", ""),
    "audit": ("audit.jobs", ""),
    "diff-builds": ("pages.jobs", ""),
    "report": ("pages.jobs", ""),
    "refresh": ("publish.jobs", ""),
    "release": ("publish.jobs", ""),
    "publish": ("publish.jobs", "finished files under short names; folders for other people"),
    "browse": ("pages.jobs", ""),
    "explorer": ("pages.jobs", ""),
    "unlock": ("runs.jobs", ""),
}
"""Command -> the module that declares it, and for a stage, whose verbs follow, what they are about.

A verb that another module declares than those of its stage stands for itself.
"""

MODEL_PACKAGES = ("torch", "transformers", "tokenizers", "safetensors", "peft")
"""What `make models` adds to the environment."""


WAITING = {"OMP_WAIT_POLICY": "PASSIVE"}
"""Read by the OpenMP libraries (GNU, LLVM, Intel) when torch is imported."""

INTERRUPTED = 130
"""The exit status after Ctrl-C, as shells have it."""


def parser(command: str = "") -> argparse.ArgumentParser:
    """The parser of the command line; of one command only, whose modules alone are imported then."""
    top, commands = _empty()
    chosen = [name for name in COMMANDS if command not in COMMANDS or name.split()[0] == command]
    for place in dict.fromkeys(COMMANDS[name][0] for name in chosen):
        importlib.import_module(f"factdrift.{place}")
    for name in (full for full in chosen if " " not in full):
        about = COMMANDS[name][1]
        alone = JOBS.get(name)
        own = (
            add_job(commands, name, alone)
            if alone
            else commands.add_parser(name, help=about, description=about)
        )
        verbs = {
            full.removeprefix(f"{name} "): job for full, job in JOBS.items() if full.startswith(f"{name} ")
        }
        if verbs:
            metavar = "[VERB]" if alone else "VERB"
            below = own.add_subparsers(dest="verb", required=not alone, metavar=metavar)
            for verb, job in verbs.items():
                add_job(below, verb, job)
    return top


def overview() -> argparse.ArgumentParser:
    """The parser of a command line without a command: it lists the commands, which have no flags in it."""
    top, commands = _empty()
    for name, (_, about) in COMMANDS.items():
        if " " not in name:
            commands.add_parser(name, help=about or summary(job_of(name)))
    return top


def _empty() -> tuple[argparse.ArgumentParser, Any]:
    """A parser, and its sub-parsers, to which commands are added."""
    top = argparse.ArgumentParser(prog="factdrift", description=sys.modules["factdrift"].__doc__)
    return top, top.add_subparsers(dest="command", required=True, metavar="COMMAND")


def job_of(command: str) -> type[Job]:
    """The record of a command, such as `updates classify`. Raises KeyError if there is none."""
    place, _ = COMMANDS.get(command) or COMMANDS[command.split()[0]]
    importlib.import_module(f"factdrift.{place}")
    return JOBS[command]


def _missing(options: argparse.Namespace, error: Exception) -> str | None:
    """Says which file of an option does not exist, if an error is about that."""
    for name, given in vars(options).items():
        for path in given if isinstance(given, list) else [given]:
            if isinstance(path, Path) and str(path) in str(error) and not path.exists():
                return f"--{name.rstrip('_').replace('_', '-')}: {path}: no such file"
    return None


def wait_asleep() -> None:
    """Makes threads of torch sleep while they wait, unless the user's environment says otherwise.

    By default they spin, which takes the processor from the thread that is waited for as soon as other
    programs run: beside six busy processes on two cores, a training step with two threads took 9.8 s with
    spinning threads and 0.84 s with sleeping ones. Has no effect once torch is imported.
    """
    for name, value in WAITING.items():
        os.environ.setdefault(name, value)


def main(arguments: list[str] | None = None) -> int:
    options = argparse.Namespace()
    try:
        memory.warn_of_limit()
        words = sys.argv[1:] if arguments is None else arguments
        top = overview() if words[:1] in ([], ["-h"], ["--help"]) else parser(words[0])
        options = top.parse_args(words)
        wait_asleep()
        if (result := record(options.job, options).run()) is not None:
            print(result)
    except InputError as error:
        kind = DAMAGED if isinstance(error, DamagedDump) else ""
        print(f"factdrift: {kind}{error}", file=sys.stderr)
        return 1
    except ModuleNotFoundError as error:
        if error.name not in MODEL_PACKAGES:
            raise
        print(
            f"factdrift: {error.name} is not installed, which runs language models; run `make models`, "
            "which adds it to the environment",
            file=sys.stderr,
        )
        return 1
    except BrokenPipeError:
        return 0
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except Exception as error:
        if disk.is_full(error):
            message = disk.full(error)
        elif memory.is_exhausted(error):
            message = memory.exhausted(error)
        elif missing := _missing(options, error):
            message = missing
        else:
            raise
        print(f"factdrift: {message}", file=sys.stderr)
        return 1
    return 0
