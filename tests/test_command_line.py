"""The command line: what it says to a word that it does not know, its help, and what its start costs."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import factdrift
from factdrift.cli import COMMANDS, PEOPLE, job_of, main
from factdrift.core.jobs import Job
from factdrift.core.paths import CONFIG
from factdrift.evaluation.questions.question import records

HEAVY = {"babel", "duckdb", "jinja2", "jsonschema", "numpy", "pandas", "pyarrow", "requests", "scipy"}
HEAVY |= {"sklearn", "torch", "transformers"}

Refused = Callable[..., str]


def ended(*words: str) -> int | str | None:
    """The status with which the command line ends by itself."""
    with pytest.raises(SystemExit) as caught:
        main(list(words))
    return caught.value.code


def test_an_unknown_word_is_answered_with_the_most_similar_one(capsys: pytest.CaptureFixture[str]) -> None:
    for words, status, said in (
        (["shwo"], 2, "factdrift: there is no command shwo; did you mean show?"),
        (["updates", "classfy"], 2, "factdrift updates: there is no verb classfy; did you mean classify?"),
        (["klob", "qqqq"], 2, "factdrift klob: there is no verb qqqq; there are "),
        (["ask", "sample", "--way", "writen"], 2, "factdrift ask: --way: there is no writen; did you mean w"),
        (["ask", "sample", "--stat", "x", "--lmit", "3"], 2, "no option --lmit (did you mean --limit?)"),
        (["edit", "tune", "sample", "--method=ft", "-o", "o", "--edit", "3", "--Seed=1"], 2, "mean --seed?)"),
        (["why", "a", "b", "c", "d"], 2, "is one word too many; `factdrift why --help` describes all"),
        ([], 2, "factdrift: error: the following arguments are required: COMMAND"),
    ):
        assert ended(*words) == status
        assert said in "".join(capsys.readouterr())
    assert ended("help", "half-life") == 0
    assert "usage: factdrift half-life" in capsys.readouterr().out
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"factdrift {factdrift.__version__}\n"


def test_help_has_what_people_use_first(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    assert ended("--help") == 0
    said = capsys.readouterr().out
    assert max(map(len, said.splitlines())) <= 68, "commands are not broken"
    people, _, workflow = said.partition("Commands of the workflow")
    assert "For example:" in people
    for name in COMMANDS:
        assert f"\n  {name} " in said, name
    for name in (each for names in PEOPLE.values() for each in names):
        assert job_of(name)
        assert f"  {name} " in people
        assert f"\n  {name} " not in workflow


def test_the_command_line_imports_nothing_that_takes_long() -> None:
    program = "import sys, factdrift.cli; factdrift.cli.parser(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "factdrift.evaluation.tools.jobs" in loaded
    assert not loaded & HEAVY


def raising(error: BaseException) -> Callable[[Job], None]:
    def run(job: Job) -> None:
        raise error

    return run


@pytest.mark.parametrize(
    ("kind", "text", "reported"),
    [
        (FileNotFoundError, "[Errno 2] No such file or directory: 'a/b.tsv'", "a: no such file"),
        (NotADirectoryError, "[Errno 20] Not a directory: '{folder}/a'", "a: no such file"),
        (OSError, 'IO Error: No files found that match the pattern "a"', "a: no such file"),
        (FileNotFoundError, "[Errno 2] No such file or directory: 'b/a'", None),
        (IsADirectoryError, "[Errno 21] Is a directory: 'd'", "d is a folder; give a file"),
        (FileExistsError, "[Errno 17] File exists: 'e'", "e is a file; give a folder"),
        (ValueError, "Parquet magic bytes not found in footer.", "b.parquet is no Parquet file, or damaged"),
        (OSError, "No magic bytes found at end of file 'e'", "e is no Parquet file, or damaged"),
        (ValueError, "a bug", None),
    ],
)
def test_only_an_error_about_a_file_that_cannot_be_used_is_reported_as_one(
    kind: type[Exception],
    text: str,
    reported: str | None,
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    refused: Refused,
) -> None:
    monkeypatch.setattr(job_of("tempripple rdf"), "run", raising(kind(text.format(folder=here))))
    Path("d").mkdir()
    for name, content in {"e": b"", "b.parquet": b"PAR1 cut", "c.parquet": b"PAR1PAR1"}.items():
        Path(name).write_bytes(content)
    words = ["--statements", "a", "d", "e", "c.parquet", "b.parquet", "--entities", "n", "--properties", "n"]
    words = ["tempripple", "rdf", *words, "--output", "o", "--database", "db"]
    if reported:
        assert refused(*words) == f"factdrift: --statements: {reported}\n"
    else:
        with pytest.raises(kind):
            main(words)


@pytest.mark.parametrize(
    ("words", "name"), [("half-life P6", "half_life"), ("memory export m", "corpus_questions")]
)
def test_a_table_that_a_command_takes_by_itself_is_built_by_the_workflow(words, name, here, refused):
    said = refused(*words.split())
    assert f"results/{name}.parquet: no such file" in said
    assert f"build it with `snakemake --cores all results/{name}.parquet`" in said
    assert not list(here.rglob("*"))


@pytest.mark.usefixtures("here")
def test_a_table_of_another_kind_is_named_with_its_column(monkeypatch, refused):
    for name, columns in {"a": {"subject": [1], "property": [6]}, "b": {"id": ["Q1"]}, "none": {}}.items():
        pq.write_table(pa.table(columns), f"{name}.parquet")
    Path("folder").mkdir()
    for file, said in (
        ("b.parquet", "--dataset: b.parquet: no column subject (met in wikifactdiff/replacements.py, line "),
        ("none.parquet", "--dataset: none.parquet has no columns"),
        ("folder", "--dataset: folder is a folder; give a file"),
    ):
        line = ["wikifactdiff", "select", "--dataset", file, "--groups", "a.parquet", "-o", "o"]
        assert refused(*line).startswith(f"factdrift: {said}")
    line = ["wikifactdiff", "export", "--dataset", "b.parquet", "-o", "o"]  # rows are read one by one
    said = "factdrift: --dataset: b.parquet: no column subject (met in wikifactdiff/export.py"
    assert refused(*line).startswith(said)
    monkeypatch.setenv("FACTDRIFT_TRACEBACK", "1")
    with pytest.raises(KeyError, match="subject"):
        main(line)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (PermissionError(13, "Permission denied", "ro/.x.factdrift-a-1.part"), "ro/x: Permission denied; "),
        (PermissionError(13, "Failed to open 'x': Permission denied"), "[Errno 13] Failed to open 'x'"),
        (RuntimeError('IO Error: Cannot open file "x": Permission denied'), 'IO Error: Cannot open file "x"'),
        (ValueError("Parquet magic bytes not found"), "a table is cut or damaged (Parquet "),
        (FileExistsError(17, "File exists", "results"), "results: is no folder, and one is needed; "),
        (OSError(30, "Read-only file system", "x"), "x: Read-only file system; "),
        (FileNotFoundError(2, "No such file or directory", "x/y"), "x/y: No such file or directory; "),
    ],
)
def test_a_file_that_cannot_be_used_is_named(error, words, monkeypatch, refused):
    monkeypatch.setattr(job_of("unlock"), "run", raising(error))
    assert refused("unlock").startswith(f"factdrift: {words}")


@pytest.mark.parametrize(("run", "status"), [("return 'x'", 0), ("print(10**6 * 'x')", 141)])
def test_a_command_that_nobody_reads_ends_without_a_traceback(run: str, status: int) -> None:
    program = f"from factdrift import cli\ndef run(job):\n    {run}\ncli.job_of('unlock').run = run\n"
    reading, writing = os.pipe()
    os.close(reading)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    line = [sys.executable, "-c", f"{program}raise SystemExit(cli.run())", "unlock"]
    done = subprocess.run(line, stdout=writing, stderr=subprocess.PIPE, env=environment, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (status, b"")


@pytest.mark.parametrize(
    ("last", "status", "result", "message"),
    [
        *(("return 'x'", 0, "x\n", ""), ("print(10**6 * 'x')", 0, 10**6 * "x" + "\n", "")),
        ("raise InputError('lost')", 1, "", "factdrift: lost\n"),
        *(("raise KeyError('lost')", 1, "", "KeyError: 'lost'\n"), ("raise SystemExit(3)", 3, "", "")),
    ],
)
def test_the_program_ends_after_all_is_written_and_tidied(last, status, result, message):
    program = (
        "import atexit\nfrom factdrift import cli\nfrom factdrift.core.errors import InputError\n"
        f"def run(job):\n    atexit.register(print, 'tidied')\n    {last}\n"
        "cli.job_of('unlock').run = run\nraise SystemExit(cli.run())"
    )
    command = [sys.executable, "-c", program, "unlock"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (status, f"{result}tidied\n")
    assert done.stderr.endswith(message)
    assert bool(message) == bool(done.stderr)


@pytest.mark.parametrize(
    ("before", "after", "status", "printed", "message"),
    [
        ("", ">&-", 0, "", ""),
        (
            "",
            ">/dev/full",
            1,
            "",
            "factdrift: a file, or what this command prints, cannot be written (No space left on",
        ),
        ("PYTHONIOENCODING=ascii", "", 0, "\\u2192\n", ""),
        ("mkdir x; cd x; rmdir ../x;", "", 1, "", "factdrift: the current folder is gone; "),
    ],
)
@pytest.mark.usefixtures("here")
def test_the_program_ends_where_it_cannot_print_as_usual(
    before: str, after: str, status: int, printed: str, message: str
) -> None:
    run = 'from factdrift import cli; cli.job_of("unlock").run = lambda job: "\\u2192"; exit(cli.run())'
    line = f"{before} {sys.executable} -c '{run}' unlock {after}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (status, printed)
    assert done.stderr.startswith(message)
    assert bool(message) == bool(done.stderr)


def test_an_interrupted_command_is_one_line(monkeypatch, capsys):
    monkeypatch.setattr(job_of("unlock"), "run", raising(KeyboardInterrupt()))
    assert main(["unlock"]) == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_another_pipe_that_breaks_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_of("unlock"), "run", raising(BrokenPipeError("of a server")))
    with pytest.raises(BrokenPipeError):
        main(["unlock"])


def test_help_names_every_benchmark(capsys: pytest.CaptureFixture[str]) -> None:
    assert ended("ask", "--help") == 0
    named = re.search(r"--benchmark BENCHMARK\s+(.+?) \[", capsys.readouterr().out, re.DOTALL)
    assert named is not None
    assert set(re.findall(r"\w+", named[1])) == set(records())


@pytest.mark.parametrize("command", ["ask", "compare", "cutoff", "edit try", "edit tune"])
def test_help_begins_with_the_options_that_matter(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert ended(*command.split(), "--help") == 0
    text = capsys.readouterr().out
    first, more = text.split("\nmore:\n")
    assert len(text.split("\n\n")[0].splitlines()) == 1  # the usage
    assert len(re.findall(r"^  -", first, re.MULTILINE)) == 6  # five, and that of help
    for option in job_of(command).leading:
        assert f"--{option} " in first
    assert "--settings JSON" in more
    for stranger in ("Annotated", "Union[", "Literal[", "msgspec", "True|False", str(CONFIG.parent), "{}]"):
        assert stranger not in text
    assert "--trust-remote-code   Whether" in more
    assert "dtype (auto or float32 or " in more
