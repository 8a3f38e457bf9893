"""The programs accept every command line that is shown in README.md and docs/."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import snakemake.cli
import yaml
from support.own_methods import write_examples
from support.workflow import ROOT
from support.workflow import snakemake as run_snakemake

from factdrift.cli import parser
from factdrift.core.settings import configure
from factdrift.evaluation.methods.own import keys_of_methods

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PROGRAMS = ("factdrift", "snakemake", "make")


def lines(page: Path) -> Iterator[str]:
    """The lines of a page's code blocks without prompts; lines that end in a backslash are joined."""
    blocks = page.read_text(encoding="utf-8").split("\n```")[1::2]
    for block in blocks:
        for line in block.replace("\\\n", " ").splitlines()[1:]:
            yield line.removeprefix("$ ")


def split(line: str, rest: Iterator[str]) -> list[str]:
    """The words of a command line, which goes on in the next line where a quotation is open."""
    while True:
        try:
            return shlex.split(line, comments=True)
        except ValueError:
            line += f"\n{next(rest)}"


def commands(program: str) -> list[Any]:
    """The arguments of every call of the program; DATE is replaced by a date, `[NAME ...]` removed."""
    found = []
    for page in PAGES:
        rest = lines(page)
        for line in rest:
            if re.match(rf"(\.venv/bin/)?{program} ", line):
                text = re.sub(r" \[[A-Z]+ \.\.\.\]", "", line).replace(" DATE ", " 2021-01-04 ")
                arguments = split(text, rest)[1:]
                name = f"{page.name}: {' '.join(arguments)[:60]}"
                found.append(pytest.param(arguments, id=name))
    return found


def test_commands_are_found() -> None:
    assert all(len(commands(program)) > least for program, least in zip(PROGRAMS, (8, 15, 1), strict=True))


@pytest.mark.parametrize("arguments", commands("factdrift"))
def test_factdrift_accepts_its_arguments(arguments: list[str]) -> None:
    assert parser().parse_args(arguments).job


def snakemake_options(arguments: list[str]) -> Any:
    """What Snakemake reads from a command that is given in the checkout."""
    here = [str(ROOT / each) if each.startswith("profiles/") else each for each in arguments]
    return snakemake.cli.parse_args(here)[1]


@pytest.mark.parametrize("arguments", commands("snakemake"))
def test_snakemake_accepts_its_arguments_and_the_workflow_its_configuration(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_examples(tmp_path / "path" / "to")
    monkeypatch.chdir(tmp_path)
    options = snakemake_options(arguments)
    config = yaml.safe_load((ROOT / "config" / "config.yaml").read_text(encoding="utf-8"))
    # What `factdrift edit tune` writes.
    (tmp_path / "tuned.yaml").write_text("rome: {layer: 8, lr: 0.5}\nedit: {split: test}\n")
    for file in options.configfile or []:
        path = tmp_path / file if (tmp_path / file).is_file() else ROOT / file
        config |= yaml.safe_load(path.read_text(encoding="utf-8"))
    config |= snakemake.cli.parse_config(options.config)
    configure(config, keys_of_methods)
    assert options.targets


def test_the_workflow_can_make_every_target(tmp_path: Path) -> None:
    targets = {
        target
        for case in commands("snakemake")
        for target in snakemake_options(case.values[0]).targets
        if target != "..."
    }
    assert len(targets) > 5
    config = {"languages": ["en", "de"], "verbalizer": "chat", "chat": {"model": "NAME"}}
    run_snakemake(tmp_path, *sorted(targets), "--dry-run", "--quiet", "all", **config)


@pytest.mark.parametrize("arguments", commands("make"))
def test_make_has_the_target(arguments: list[str]) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    assert targets is not None
    assert {name for name in arguments if "=" not in name} <= set(targets[1].split())
