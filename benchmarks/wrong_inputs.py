"""Every command with wrong inputs: how many of its answers are a traceback instead of a line for the user.

    python benchmarks/wrong_inputs.py FOLDER --record benchmarks/RESULTS.md
    python benchmarks/wrong_inputs.py FOLDER --only wikifactdiff --outcomes outcomes.json

FOLDER is the directory of a build that has kept its temporary files (`snakemake --directory FOLDER --notemp
--printshellcmds TARGET ... > FOLDER/run.log 2>&1`); its `run.log` has the command lines. Of each command one
line is repeated once for each of its inputs and each kind of wrong input (WRONG), in a copy of the build. A
command without a line gets all of its inputs wrong at once. Each command runs in a process of its own, which
reaches no other machine.
"""

import argparse
import contextlib
import datetime
import io
import json
import multiprocessing
import os
import re
import shlex
import shutil
import signal
import socket
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from record import add_record, record

from factdrift import cli
from factdrift.core.jobs import JOBS, Field, fields, has_paths

SECONDS = 60
TRACEBACK, ENDLESS = "traceback", "did not end"
Outcomes = dict[str, str]
"""`COMMAND --OPTION KIND` -> `exit STATUS` with the message, ENDLESS, or TRACEBACK with the error and
the line that raised it."""


class _Late(BaseException):
    """A command has taken SECONDS."""


def _table(change: Callable[[Any], Any]) -> Callable[[Path, Path], None]:
    """Writes the table `right` as `change` makes it; of a JSON file, every value as text."""

    def write(right: Path, wrong: Path) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        if right.is_dir():
            for path in filter(Path.is_file, right.rglob("*")):
                (wrong / path.relative_to(right)).parent.mkdir(parents=True, exist_ok=True)
                write(path, wrong / path.relative_to(right))
        elif right.suffix == ".parquet":
            pq.write_table(change(pq.read_table(right)), wrong)
        elif right.suffix == ".json":
            wrong.write_text(
                re.sub(r"(?<=: )[\d.]+|(?<=: )\[\]", '"text"', right.read_text(encoding="utf-8"))
            )
        else:
            pq.write_table(change(pa.table({"a": [1]})), wrong)

    return write


def _types(table: Any) -> Any:
    import pyarrow as pa

    numbers, texts = pa.array([*range(len(table))]), pa.array(["text"] * len(table))
    columns = [numbers if pa.types.is_string(field.type) else texts for field in table.schema]
    return pa.table(columns, names=table.column_names)


def _nulls(table: Any) -> Any:
    import pyarrow as pa

    columns = [pa.nulls(len(table), field.type) for field in table.schema]
    return pa.table(columns, names=table.column_names)


def _others(table: Any) -> Any:
    import pyarrow as pa

    return pa.table({"colour": ["red"] * min(len(table), 9)})


def _columnless(table: Any) -> Any:
    import pyarrow as pa

    return pa.table({})


def _folder(right: Path, wrong: Path) -> None:
    if right.is_dir():
        wrong.write_text("a file\n")
    else:
        wrong.mkdir()
        (wrong / "other.txt").write_text("in a folder\n")


def _truncated(right: Path, wrong: Path) -> None:
    for path in filter(Path.is_file, [right, *right.rglob("*")]):
        part = wrong / path.relative_to(right)
        part.parent.mkdir(parents=True, exist_ok=True)
        data = path.read_bytes()
        part.write_bytes(data[: len(data) // 2])


def _barred(right: Path, wrong: Path) -> None:
    wrong.touch(mode=0)


WRONG: dict[str, Callable[[Path, Path], object]] = {
    "folder for file": _folder,
    "empty": lambda right, wrong: wrong.touch(),
    "no columns": _table(_columnless),
    "other columns": _table(_others),
    "other types": _table(_types),
    "nulls": _table(_nulls),
    "truncated": _truncated,
    "text": lambda right, wrong: wrong.write_text("Dear reader,\nthis is no table.\n"),
    "other JSON": lambda right, wrong: wrong.write_text('[1, {"a": null}, "b"]\n'),
    "missing": lambda right, wrong: None,
    "not readable": _barred,  # as another user than root
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("build", type=Path)
    parser.add_argument("--only", default="", help="commands that contain this text")
    parser.add_argument("--outcomes", type=Path, help="file for what became of each case, as JSON")
    add_record(parser)
    options = parser.parse_args()
    cli.parser()
    lines = read_lines(options.build / "run.log")
    outcomes: Outcomes = {}
    with tempfile.TemporaryDirectory() as folder:
        build = shutil.copytree(options.build, Path(folder, "build"), symlinks=True)
        for command in (name for name in JOBS if options.only in name):
            outcomes |= apart(command, cases(command, lines.get(command), Path("wrong"), [*WRONG]), build)
            print(command, dict(Counter(kind_of(text) for text in outcomes.values())), file=sys.stderr)
    if options.outcomes:
        options.outcomes.write_text(json.dumps(outcomes, indent=1) + "\n", encoding="utf-8")
    report(outcomes, options.record)


def report(outcomes: Outcomes, file: Path | None) -> None:
    faults = {
        case: text for case, text in outcomes.items() if kind_of(text) not in ("exit 0", "exit 1", "exit 2")
    }
    for case, text in faults.items():
        print(f"{case}: {text}", file=sys.stderr)
    rows = []
    for kind in [*WRONG, ""]:
        texts = Counter(kind_of(text) for case, text in outcomes.items() if case.endswith(kind))
        refused = texts["exit 1"] + texts["exit 2"]
        counts = (texts.total(), refused, texts["exit 0"], texts[TRACEBACK], texts[ENDLESS])
        rows.append((kind or "all", *map(str, counts)))
    commands = {case.partition(" --")[0] for case in outcomes}
    bad = {case.partition(" --")[0] for case, text in faults.items() if kind_of(text) == TRACEBACK}
    note = f"`benchmarks/wrong_inputs.py`, {len(commands)} commands; a traceback in {len(bad)} of them."
    header = ("wrong input", "cases", "refused", "accepted", "tracebacks", "did not end")
    record(f"Wrong inputs, {datetime.date.today()}", header, rows, note, file)


def kind_of(text: str) -> str:
    return text.partition(":")[0]


def read_lines(log: Path) -> dict[str, list[str]]:
    """Command -> the words of its longest line in the log of a run."""
    lines: dict[str, list[str]] = {}
    scripts = re.findall(r"^Shell command: *\n((?: +.*\n)+)", log.read_text(encoding="utf-8"), re.MULTILINE)
    for line in "".join(scripts).replace("\\\n", " ").splitlines():
        program, *words = shlex.split(line)
        if program != "factdrift":
            continue
        command = next((name for name in (" ".join(words[:2]), words[0]) if name in JOBS), "")
        if command and len(words) > len(lines.get(command, [])):
            lines[command] = words
    return lines


def cases(
    command: str, line: Sequence[str] | None, folder: Path, kinds: Sequence[str]
) -> Iterator[tuple[str, Callable[[], list[str]]]]:
    """The name of each case of a command, and a function that writes its input and returns its words."""
    inputs = [field for field in fields(JOBS[command]) if field.part != "output" and has_paths(field.kind)]
    for kind in kinds:
        if kind == "not readable" and os.geteuid() == 0:
            continue
        if line is None:
            if inputs:
                yield f"{command} --all {kind}", partial(_all_wrong, command, inputs, kind, folder)
            continue
        options = vars(cli.parser(line[0]).parse_args(line))
        for field in inputs:
            if field.part == "input" and options[field.name]:
                yield (
                    f"{command} {field.option} {kind}",
                    partial(_one_wrong, line, field, options, kind, folder),
                )


def _one_wrong(
    line: Sequence[str], field: Field, options: dict[str, Any], kind: str, folder: Path
) -> list[str]:
    """The line with a wrong first path of an input, and with outputs of its own."""
    values = options[field.name] if isinstance(options[field.name], list) else [options[field.name]]
    right = values[0]
    wrong = folder / right.name
    WRONG[kind](right, wrong)
    words, current = [], ""
    outputs = {each.option: each for each in fields(options["job"]) if each.part == "output"}
    changed = False
    for word in line:
        option, is_option, value = word.partition("=")
        current = option if word.startswith("--") else current
        if current in outputs and not (word.startswith("--") and not is_option):
            text = value if is_option and word.startswith("--") else word
            new = str(folder / "out" / Path(text).name) if text else ""
            words.append(f"{current}={new}" if word.startswith("--") else new)
        elif not changed and word == str(right) and (current == field.option or field.flag.positional):
            changed = True
            words.append(str(wrong))
        elif not changed and word == f"{field.option}={right}":
            changed = True
            words.append(f"{field.option}={wrong}")
        else:
            words.append(word)
    assert changed, (line, field.option)
    return words


def _all_wrong(command: str, inputs: Sequence[Field], kind: str, folder: Path) -> list[str]:
    """The command with wrong inputs only, and the least of what else it needs."""
    words, places = command.split(), []
    for field in fields(JOBS[command]):
        if field in inputs:
            right = Path("right.parquet") if kind in ("other types", "nulls") else Path("a.parquet")
            wrong = folder / f"{field.name}.parquet"
            if not wrong.exists():
                WRONG[kind](right if right.exists() else Path(__file__), wrong)
            values = [str(wrong)] * (len(getattr(field.kind, "_fields", "1")))
        elif field.part == "output":
            values = [str(folder / "out" / field.name)] if field.required else []
        elif field.required or field.flag.positional:
            values = [_least(field)]
        else:
            continue
        if field.flag.positional:
            places += values
        elif values:
            words += [field.option, *values]
    return [*words[: len(command.split())], *places, *words[len(command.split()) :]]


def _least(field: Field) -> str:
    inner = get_args(field.kind)[0] if field.many else field.kind
    if get_origin(inner) is Literal:
        return str(get_args(inner)[0])
    return {int: "1", float: "1", bool: "True", datetime.date: "2021-01-04", str: "Q1"}.get(inner, "{}")


def apart(command: str, all_cases: Iterator[tuple[str, Callable[[], list[str]]]], build: Path) -> Outcomes:
    """What becomes of the cases of a command, in a process of its own."""
    context = multiprocessing.get_context("fork")
    reading, writing = context.Pipe(duplex=False)
    process = context.Process(target=_run_all, args=(all_cases, build, writing))
    process.start()
    writing.close()
    outcomes: Outcomes = {}
    with contextlib.suppress(EOFError):
        while True:
            name, text = reading.recv()
            outcomes[name] = text
    process.join()
    if process.exitcode:
        raise SystemExit(f"{command}: the process ended with {process.exitcode}")
    return outcomes


def _run_all(all_cases: Iterator[tuple[str, Callable[[], list[str]]]], build: Path, results: Any) -> None:
    os.chdir(build)
    socket.socket.connect = _refuse  # type: ignore[method-assign, assignment]
    for name, prepare in all_cases:
        shutil.rmtree("wrong", ignore_errors=True)
        Path("wrong").mkdir()
        results.send((name, outcome(prepare())))


def _refuse(self: socket.socket, address: object) -> None:
    raise ConnectionRefusedError(f"{address}: no other machine is reached here")


def outcome(words: Sequence[str]) -> str:
    """What becomes of a command line in this process."""

    def late(*_: object) -> None:
        raise _Late

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as errors:
            status = cli.main([*words])
        said = [line for line in errors.getvalue().splitlines() if line.startswith("factdrift: ")]
        return f"exit {status}: {said[-1][:500] if said else ''}"
    except SystemExit as error:
        return f"exit {error.code}"
    except _Late:
        return ENDLESS
    except Exception as error:
        frames = [each for each in traceback.extract_tb(error.__traceback__) if "factdrift" in each.filename]
        place = frames[-1]
        where = f"{Path(place.filename).name}:{place.lineno}"
        return f"{TRACEBACK}: {where}: {type(error).__name__}: {' '.join(str(error).split())[:150]}"
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


if __name__ == "__main__":
    main()
