"""Every command line of README.md and docs/ is accepted, and runs in a test or says what it needs."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import snakemake.cli
import yaml
from support.own_methods import write_examples
from support.workflow import ROOT
from support.workflow import snakemake as run_snakemake

from factdrift.cli import main, parser
from factdrift.core.settings import configure
from factdrift.evaluation.methods.own import keys_of_methods

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
NEEDS = re.compile(r"#.*\b(network|GPU|cluster|chat model)\b")
"""What a comment beside a command, or above it, names if no test can run it."""


class Shown(NamedTuple):
    """A command of a page, and whether no comment says that it needs what tests do not have."""

    page: str
    words: list[str]
    runs: bool


def shown(page: Path) -> Iterator[Shown]:
    """The commands of a page's code blocks; DATE is replaced by a date, `[NAME ...]` removed."""
    blocks = page.read_text(encoding="utf-8").split("\n```")[1::2]
    rest = (line for block in blocks for line in block.replace("\\\n", " ").splitlines()[1:])
    above = ""
    for line in (each.removeprefix("$ ") for each in rest):
        if re.match(r"(\.venv/bin/)?(factdrift|snakemake|make) ", line):
            text = re.sub(r" \[[A-Z]+ \.\.\.\]", "", line).replace(" DATE ", " 2021-01-04 ")
            words = split(text, rest)
            yield Shown(page.name, words, "..." not in words and not NEEDS.search(f"{above} {line}"))
        else:
            # A comment is about all commands up to an empty line.
            above = line if line.startswith("#") else above if line else ""


def split(line: str, rest: Iterator[str]) -> list[str]:
    """The words of a command line, which goes on in the next line where a quotation is open."""
    while True:
        try:
            return shlex.split(line, comments=True)
        except ValueError:
            line += f"\n{next(rest)}"


SHOWN = [each for page in PAGES for each in shown(page)]


def commands(program: str) -> list[tuple[str, list[str]]]:
    """The page and the arguments of every call of the program."""
    return [(page, words[1:]) for page, words, _ in SHOWN if Path(words[0]).name == program]


def test_factdrift_and_make_accept_their_arguments() -> None:
    assert len(commands("factdrift")) > 8
    for page, arguments in commands("factdrift"):
        assert parser().parse_args(arguments).job, page
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    assert targets is not None
    named = {name for _, arguments in commands("make") for name in arguments if "=" not in name}
    assert set() < named <= set(targets[1].split())


def snakemake_options(arguments: list[str]) -> Any:
    """What Snakemake reads from a command that is given in the checkout."""
    here = [str(ROOT / each) if each.startswith("profiles/") else each for each in arguments]
    return snakemake.cli.parse_args(here)[1]


def test_snakemake_accepts_its_arguments_and_the_workflow_its_configuration_and_targets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_examples(tmp_path / "path" / "to")
    # What `factdrift edit tune` writes.
    (tmp_path / "tuned.yaml").write_text("rome: {layer: 8, lr: 0.5}\nedit: {split: test}\n")
    monkeypatch.chdir(tmp_path)
    targets = set()
    for page, arguments in commands("snakemake"):
        options = snakemake_options(arguments)
        config = yaml.safe_load((ROOT / "config" / "config.yaml").read_text(encoding="utf-8"))
        for file in options.configfile or []:
            path = tmp_path / file if (tmp_path / file).is_file() else ROOT / file
            config |= yaml.safe_load(path.read_text(encoding="utf-8"))
        config |= snakemake.cli.parse_config(options.config)
        if options.config or options.configfile:
            configure(config, keys_of_methods)
        assert options.targets, page
        targets |= {*options.targets} - {"..."}
    assert len(targets) > 5
    config = {"languages": ["en", "de"], "verbalizer": "chat", "chat": {"model": "NAME"}}
    run_snakemake(tmp_path, *sorted(targets), "--dry-run", "--quiet", "all", **config)


BY_RULE = {"cutoff chains": "cutoff.parquet"}
"""Commands that only a rule calls, and a product that needs it and that a test builds."""
TESTS = "\n".join(
    path.read_text(encoding="utf-8")
    for path in sorted((ROOT / "tests").rglob("*"))
    if path.suffix in (".py", ".yaml") and path.name != Path(__file__).name
)


@pytest.mark.parametrize("words", [each.words for each in SHOWN if each.runs], ids=" ".join)
def test_a_test_runs_it_or_it_says_what_it_needs(words: list[str]) -> None:
    """A test runs the command's verbs, or builds its files; settings are checked above."""
    program = Path(words[0]).name
    if program == "factdrift":
        job = parser().parse_args(words[1:]).job.command
        if job in BY_RULE:
            assert f'"results/{BY_RULE[job]}"' in TESTS or f'"{BY_RULE[job]}"' in TESTS
            return
        called = r"[\"', ]+".join(map(re.escape, job.split()))
        stage, _, verb = job.partition(" ")
        # A file of tests of one stage names the verb alone.
        own = ROOT / "tests" / stage / f"test_{stage}_commands.py"
        alone = own.is_file() and f'run("{verb}"' in own.read_text("utf-8")
        assert re.search(rf"[\"'(\[]{called}[\"' ]", TESTS) or alone, job
    elif program == "snakemake":
        for target in snakemake_options(words[1:]).targets:
            name = target.removeprefix("results/").rstrip("/")
            # Of these the tests build all, by a pattern.
            made = re.sub(r"^(models|layouts)/.*", r"\1/", name)
            assert re.search(rf"[\"'/]{re.escape(made)}(?![a-z_])" if made == name else made, TESTS), target
    else:
        assert program == "make"
        assert all(f'"{name}"' in TESTS or f"make {name}" in TESTS for name in words[1:]), words


AS_THEY_ARE = ("show", "why", "estimate", "models describe", "edit export")
"""Commands that need the sample's build only, and no more than seconds."""


@pytest.mark.slow
def test_commands_run_as_the_pages_show_them(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch", reason="language models are installed with `make models`")
    monkeypatch.chdir(built)
    lines = {tuple(each.words[1:]) for each in SHOWN if each.runs and each.words[0].endswith("factdrift")}
    # Entities and dumps that other pages make: about real data, and of a full build.
    here = [words for words in sorted(lines) if "Q48946" not in words and "dumps/" not in " ".join(words)]
    found = [words for words in here if parser().parse_args(words).job.command in AS_THEY_ARE]
    assert len(found) > 10
    for words in found:
        assert main(list(words)) == 0, words
