"""`factdrift <stage> <verb>`: every job of the workflow, and the tools for users, as commands.

The modules of COMMANDS declare them (`factdrift.core.jobs`); what a command needs is imported only when it
runs.
"""

import argparse
import atexit
import difflib
import importlib
import os
import re
import select
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn, TextIO

import factdrift
from factdrift.core import exhausted
from factdrift.core.errors import DAMAGED, DamagedDump, InputError, meant, readable
from factdrift.core.jobs import JOBS, Job, add_job, fields, record, summary
from factdrift.core.unusable import Input, reason

COMMANDS = {
    "sample": ("snapshots.jobs", "the bundled sample of dated facts"),
    "snapshots": ("snapshots.jobs", "dumps: downloaded, derived or fetched by the API; page views"),
    "statements": ("statements.jobs", "a dump as tables"),
    "updates": ("updates.jobs", "difference two snapshots and label what changed"),
    "neighbors": ("neighbors.jobs", "facts about similar entities, and random facts"),
    "verbalize": ("verbalize.jobs", "sentence templates for relations, literals in words"),
    "wikifactdiff": ("wikifactdiff.jobs", "the datasets, their statistics and their origin"),
    "show": ("wikifactdiff.jobs", ""),
    "ripples": ("ripples.jobs", "what follows from updates, what must stay, and what was true before"),
    "streams": ("streams.jobs", "the updates of a sequence of dates, linked to chains"),
    "half-life": ("streams.jobs", ""),
    "memory": ("memory.jobs", "whether retrievers and memories know what changed"),
    "recent": ("snapshots.recent.jobs", ""),
    "klob": ("klob.jobs", "sentences on which locating methods are judged (KLoB)"),
    "tempripple": ("tempripple.jobs", "what changed, what it was, and what follows"),
    "models": (
        "models.jobs evaluation.tools.model_jobs",
        "language models: descriptions, second moments, the bundled sample models",
    ),
    "edit": (
        "evaluation.jobs evaluation.scores.jobs evaluation.tools.jobs",
        "editing methods on language models: edits, scores, others' layouts",
    ),
    "locate": (
        "evaluation.locators.jobs evaluation.scores.jobs",
        "locating methods on language models: run and compare them",
    ),
    "answer": (
        "evaluation.scores.jobs evaluation.jobs evaluation.tools.jobs",
        "answers of models to questions: requests, scores, tables",
    ),
    "evaluate": ("evaluation.jobs", ""),
    "ask": ("evaluation.tools.jobs", ""),
    "cutoff": ("evaluation.cutoff_jobs", ""),
    "stated": ("evaluation.cutoff_jobs", ""),
    "compare": ("evaluation.tools.jobs", ""),
    "judge": ("verdict.jobs", ""),
    "chat": ("chat.jobs", "ask a chat model; keep, export and import its answers"),
    "estimate": ("runs.jobs", ""),
    "audit": ("audit.jobs", ""),
    "diff-builds": ("pages.jobs", ""),
    "report": ("pages.jobs", ""),
    "mismatches": ("publish.jobs", ""),
    "refresh": ("publish.jobs", ""),
    "release": ("publish.jobs", ""),
    "publish": ("publish.jobs", "finished files under short names; folders for other people"),
    "browse": ("pages.jobs", ""),
    "why": ("pages.jobs", ""),
    "unlock": ("runs.jobs", ""),
    "clean": ("runs.jobs", ""),
}
"""Command -> the modules that declare it, and for a stage, whose verbs they declare, what these are about."""

PEOPLE = {
    "Look at a build": ("show", "why", "browse", "audit", "diff-builds", "half-life", "mismatches"),
    "Score retrievers and memories": ("memory export", "memory score"),
    "Make one": ("estimate", "recent", "refresh", "unlock", "clean"),
    "Ask and edit language models": (
        *("ask", "compare", "edit try", "edit tune", "models describe", "locate scores", "publish results"),
    ),
}
"""What people use, as `--help` lists it first; the other commands are those of the workflow."""

EXAMPLES = """\
  factdrift show --search Germany
  factdrift why Germany "head of government"
  factdrift estimate 92GB.gz 120GB.gz --cores 32
  factdrift ask sample --benchmark updates --state rome"""

MODEL_PACKAGES = ("torch", "transformers", "tokenizers", "safetensors", "peft")
"""What `make models` adds to the environment."""

TRACEBACK = "FACTDRIFT_TRACEBACK"
"""The variable of the environment with which an error of an input is raised as it is."""

INTERRUPTED = 130
"""The exit status after Ctrl-C, as shells have it."""

UNREAD = 141
"""The exit status of a command that is at work when nobody reads what it prints, as shells have it."""


def parser(command: str = "") -> argparse.ArgumentParser:
    """The parser of the command line; of one command only, whose modules alone are imported then."""
    top, commands = _empty()
    chosen = [command] if command in COMMANDS else [*COMMANDS]
    for name in chosen:
        _import(name)
    for name in chosen:
        about = COMMANDS[name][1]
        alone = JOBS.get(name)
        own: Any = (
            add_job(commands, name, alone)
            if alone
            else commands.add_parser(name, help=about, description=about)
        )
        verbs = {
            full.removeprefix(f"{name} "): job for full, job in JOBS.items() if full.startswith(f"{name} ")
        }
        if verbs:
            metavar = "[VERB]" if alone else "VERB"
            below = own.add_subparsers(
                dest="verb", required=not alone, metavar=metavar, prog=f"factdrift {name}"
            )
            own.verbs = {verb: add_job(below, verb, job) for verb, job in verbs.items()}
    return top


def _help() -> str:
    """What `--help` says: the commands, those for people first."""
    width = min(shutil.get_terminal_size((80, 24)).columns, 80)

    def listed(names: Iterable[str]) -> Iterator[str]:
        for name in names:
            about = COMMANDS.get(name, ("", ""))[1] or summary(job_of(name))
            text = f"{name:15} {about}"
            yield from textwrap.wrap(text, width, initial_indent="  ", subsequent_indent=" " * 18)

    people = {name for names in PEOPLE.values() for name in names}
    lines = ["usage: factdrift COMMAND ...", "", *textwrap.wrap(factdrift.__doc__ or "", width)]
    for heading, names in PEOPLE.items():
        lines += ["", f"{heading}:", *listed(names)]
    others = listed(name for name in COMMANDS if name not in people)
    lines += ["", "For example:", EXAMPLES]
    lines += ["", "Commands of the workflow (a rule calls each; by hand rarely):", *others]
    lines += ["", "`factdrift COMMAND --help` describes one.", "`factdrift --version` says which this is."]
    return "\n".join(lines) + "\n"


class _Parser(argparse.ArgumentParser):
    """A parser whose messages about an unknown command, verb, option or choice suggest the most similar one.

    The first word is a verb if there is one of that name, also of a command that takes a word without verb.
    """

    verbs: Mapping[str, argparse.ArgumentParser] = MappingProxyType({})

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        if args and args[0] in self.verbs:
            return self.verbs[args[0]].parse_known_args(args[1:], namespace)
        return super().parse_known_args(args, namespace)

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        options, rest = self.parse_known_args(args, namespace)
        if rest:
            options.parser.refuse(rest[0])
        return options

    def refuse(self, word: str) -> NoReturn:
        """Ends with a message about a word of the command line that the command does not know."""
        known = [option for action in self._actions for option in action.option_strings if len(option) > 2]
        option = word.partition("=")[0]
        what = f"there is no option {option}" if option.startswith("-") else f"{word!r} is one word too many"
        self._end(f"{what}{meant(option, known, 0.5) if option.startswith('-') else ''}")

    def _end(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; `{self.prog} --help` describes all\n")

    def error(self, message: str) -> NoReturn:
        unknown = re.fullmatch(r"argument (.+): invalid choice: '(.*?)' \(choose from (.*)\)", message)
        if unknown is None:
            super().error(message)
        known = re.findall(r"[\w-]+", unknown[3])
        similar = difflib.get_close_matches(unknown[2], known, 1)
        hint = f"did you mean {similar[0]}?" if similar else f"there are {', '.join(known)}"
        kind = unknown[1].strip("[]")
        kind = kind.lower() if kind in ("COMMAND", "VERB") else f"{kind}"
        if kind.startswith("-"):
            self._end(f"{kind}: there is no {unknown[2]}; {hint}")
        self._end(f"there is no {kind} {unknown[2]}; {hint}")

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        super().exit(status, message and readable(message))


def _empty() -> tuple[argparse.ArgumentParser, Any]:
    """A parser, and its sub-parsers, to which commands are added."""
    top = _Parser(prog="factdrift", description=factdrift.__doc__)
    top.format_help = _help  # type: ignore[method-assign]
    return top, top.add_subparsers(dest="command", required=True, metavar="COMMAND")


def job_of(command: str) -> type[Job]:
    """The record of a command, such as `updates classify`. Raises KeyError if there is none."""
    _import(command.split()[0])
    return JOBS[command]


def _import(command: str) -> None:
    """Imports the modules that declare a command, or the verbs of a stage."""
    for module in COMMANDS[command][0].split():
        importlib.import_module(f"factdrift.{module}")


def _unusable(job: Job | None, error: Exception) -> str | None:
    """Says which file of a flag cannot be used as what it ought to be, if an error is about that.

    Without a job, the error came before one was made of the flags.
    """
    if job is None:
        return reason(error, [], [])
    written = {field.name for field in fields(type(job)) if field.part == "output"}
    paths = [
        (name, Input(f"--{name.rstrip('_').replace('_', '-')}", path))
        for name, value in vars(job).items()
        for path in (value if isinstance(value, tuple) else [value])
        if isinstance(path, Path)
    ]
    inputs = [value for name, value in paths if name not in written]
    return reason(error, [value for _, value in paths], inputs)


def _is_closed(stream: TextIO) -> bool:
    """Whether a stream is a pipe from which nobody reads any more, as before `| head`."""
    poll = select.poll()
    poll.register(stream, 0)
    return any(event & select.POLLERR for _, event in poll.poll(0))


def run() -> int:
    """The program `factdrift`: a process for a command, which ends as soon as that has ended.

    Python does not take its memory apart, module by module: the system frees all at once. What other modules
    have registered for the end is done before.
    """
    exhausted.collect_seldom()
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:  # the shell has closed it, and an output could get its number
            setattr(sys, name, Path(os.devnull).open("r+", encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    status: list[int] = []
    atexit.register(_leave, status)
    status.append(main())
    return status[0]


def _leave(status: list[int]) -> None:
    """Ends the process with a status, unless a command was left by an error, which Python prints."""
    if status:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(status[0])


def wait_asleep() -> None:
    """Makes threads of torch sleep while they wait, unless the user's environment says otherwise.

    By default they spin, which takes the processor from the thread that is waited for as soon as other
    programs run: beside six busy processes on two cores, a training step with two threads took 9.8 s with
    spinning threads and 0.84 s with sleeping ones. Has no effect once torch is imported.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # read by the OpenMP libraries


def main(arguments: list[str] | None = None) -> int:
    job, ended = None, False
    try:
        exhausted.warn_of_limit()
        try:
            Path.cwd()
        except FileNotFoundError:
            raise InputError("the current folder is gone; change to another one") from None
        words = sys.argv[1:] if arguments is None else arguments
        if words == ["--version"]:
            print(f"factdrift {factdrift.__version__}")
            return 0
        if words[:1] == ["help"]:
            words = [*words[1:], "--help"]
        of_all = words[:1] in ([], ["-h"], ["--help"])
        options = (_empty()[0] if of_all else parser(words[0])).parse_args(words)
        wait_asleep()
        job = record(options.job, options)
        job.check()
        result = job.run()
        ended = True
        if result is not None:
            print(result, flush=True)
        return 0
    except InputError as error:
        message = f"{DAMAGED if isinstance(error, DamagedDump) else ''}{error}"
    except ModuleNotFoundError as error:
        if error.name not in MODEL_PACKAGES:
            raise
        message = (
            f"{error.name} is not installed, which runs language models; run `make models`, which adds it to "
            "the environment"
        )
    except BrokenPipeError:
        if not _is_closed(sys.stdout):
            raise
        # Python writes what is left of it when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0 if ended else UNREAD
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except Exception as error:
        if exhausted.is_full(error):
            message = exhausted.full(error)
        elif exhausted.is_exhausted(error):
            message = exhausted.exhausted(error)
        elif not os.environ.get(TRACEBACK) and (known := _unusable(job, error)):
            message = known
        else:
            raise
    print(f"factdrift: {readable(message)}", file=sys.stderr)
    return 1
