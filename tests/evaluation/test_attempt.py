"""One edit to look at, and the advice where something is missing."""

import builtins
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from support.asking import command, saved, scoring
from support.updates import dataset, edits

from factdrift.cli import main
from factdrift.evaluation.tools.attempt import find_around

from .test_template import TEMPLATE

PROMPT = "The head of government of Atlantis is"
CPU = ("--settings", '{"device": "cpu"}')


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    return saved(tmp_path_factory.mktemp("tiny-llama"))


def test_old_object_paraphrases_and_neighbours_come_from_the_dataset(tmp_path):
    path = dataset(tmp_path / "dataset.parquet")
    found = find_around(path, "The head of government of the Atlantis is", "Atlantis", "Ada")
    titles = [
        f"{text} ..." for text in ("Atlantis has a government led by", "At the head of Atlantis stands")
    ]
    assert [(title, label) for _, title, _, label in found[:3]] == [
        ("old object", "Marta Kowalska"),
        *((title, "Ada") for title in titles),
    ]
    assert found[3][2:] == ("The head of government of New Orleans is", "Zoë Müller")
    # Of a subject that the dataset does not have, the others' facts in the same words.
    other = find_around(path, "The head of government of Lemuria is", "Lemuria", "Ada")
    assert {heading for heading, *_ in other} == {"Neighbours, which should stay"}
    assert other[0][2:] == (PROMPT, "Marta Kowalska")
    assert find_around(tmp_path / "none.parquet", PROMPT, "Atlantis", "Ada") == []


def tried(model: Path, *arguments: str) -> int:
    line = ["edit", "try", PROMPT, "Joe Biden", "--subject", "Atlantis", "--model", str(model), *CPU]
    return main([*line, *arguments])


def test_before_and_after_are_shown(model, tmp_path, capsys):
    path = dataset(tmp_path / "dataset.parquet")
    assert tried(model, "--method", "prompt", "--dataset", str(path)) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("PROMPT on ")
    assert said[2] == f"{PROMPT} ..."
    assert said[3].split() == ["before", "after"]
    assert all("%" in line for line in said[4:9])
    whole = "\n".join(said)
    assert "new object  Joe Biden" in whole
    assert "old object  Marta Kowalska" in whole
    assert "Atlantis has a government led by ..." in whole
    assert "The head of government of New Orleans is ..." in whole
    assert all(line.count("->") == 1 for line in said if "..." in line and "%" in line)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--method", "prompt", "--subject", "Lemuria"], "'Lemuria' does not occur in the prompt"),
        (
            ["--method", "rome", "--model", "sample", "--models", "nowhere"],
            "snakemake --cores all results/models/sample-llama",
        ),
        (["--method", "magic"], "no such method"),
        (["--method", "rome", "--set", '{"layer": 99}'], "has no block 99, but blocks 0 to 2"),
        (["--method", "rome", "--set", '{"layer": 2.5}'], "rome.layer: 2.5 is not of type 'integer'"),
        (["--method", "ultraedit"], "ultraedit cannot edit so (it compares the edits of a group"),
    ],
)
def test_a_missing_input_is_reported(arguments, message, model, capsys):
    assert tried(model, *arguments) == 1
    said = capsys.readouterr().err
    assert message in said
    assert "Traceback" not in said


def test_moments_are_made_and_kept_and_the_command_for_an_editor_has_the_users_values(
    model, tmp_path, capsys
):
    values = '{"layer": 1, "prefixes": [{"start": "", "tokens": 3, "number": 2}]}'
    rome = ("--results", str(tmp_path), "--method", "rome", "--set", values)
    # What needs the model alone is made on the way.
    assert tried(model, *rome) == 0
    said = capsys.readouterr()
    assert re.search(r"moments of block 1 of .*over 20,000 tokens that the model writes: made once", said.err)
    assert tried(model, *rome) == 0
    again = capsys.readouterr()
    assert again.out == said.out
    (folder,) = re.findall(r"tokens that the model writes: as kept in (.+)", again.err)
    assert tried(model, *rome, "--moments", folder) == 0
    last = capsys.readouterr()
    assert last.out == said.out
    assert "second moments" not in last.err
    (model / "chat_template.jinja").write_text(TEMPLATE, encoding="utf-8")
    mend = ("--results", str(tmp_path), "--method", "mend", "--set", '{"blocks": 2}', "--template", "chat")
    assert tried(model, *mend) == 1
    said = capsys.readouterr().err
    assert "needs mend.safetensors, which is not under" in said
    command = shlex.split(said.split("`")[1])
    given = dict(each.split("=", 1) for each in command[command.index("--config") + 1 :])
    assert json.loads(given["models"]) == [str(model)]
    assert json.loads(given["methods"]) == ["mend"]
    assert json.loads(given["mend"]) == {"blocks": 2}
    assert json.loads(given["edit"]) == {"template": "chat"}


def test_without_pytorch_there_is_advice(monkeypatch, tmp_path, capsys):
    plain = builtins.__import__

    def without(name: str, *others: Any) -> Any:
        if name.split(".")[0] == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name="torch")
        return plain(name, *others)

    monkeypatch.setattr(builtins, "__import__", without)
    command(Path("sample"), tmp_path / "job", "updates", [tmp_path / "edits"], code=1)
    assert "make models" in capsys.readouterr().err


def test_the_jobs_by_hand(model, tmp_path, capsys):
    """The unedited model, two shards, scores, tables and figures, by their commands."""
    path = edits(tmp_path)
    jobs = [
        command(model, tmp_path / name, "updates", [path], *options, written_tokens=4)
        for name, *options in (
            ("none", "none"),
            ("0-of-2", "prompt", "--shard=0-of-2"),
            ("1-of-2", "prompt", "--shard=1-of-2"),
        )
    ]
    out = {name: tmp_path / f"out.{name}" for name in ("scores", "probes", "written", "costs")}
    line = ["edit", "scores", f"--edits={path}", *scoring(jobs), "--models", str(model)]
    line += ["--costs", *(str(job.path("json")) for job in jobs[1:]), "--methods", "none", "prompt"]
    line += [f"--output={tmp_path}", *(f"--out-{name}={path}" for name, path in out.items())]
    assert (
        main([*line, "--out-bleedover", *(str(tmp_path / f"bleedover.{form}") for form in ("svg", "png"))])
        == 0
    )
    said = capsys.readouterr().out
    (costs,) = json.loads(out["costs"].read_text(encoding="utf-8"))
    assert (costs["method"], costs["edits"], costs["device"]) == ("prompt", 5, "cpu")
    assert "10 rows" in said
    assert "Table 6" in said
    assert "Table 7" in said
    assert "5 replacements" in said
    # Own and other wordings, nearest and random facts; all with teacher forcing; both parts of Table 6;
    # two groups, since thirds of five edits are left out.
    assert sum(line.startswith("PROMPT ") for line in said.splitlines()) == 12
    assert "\nnot known  n" in said  # no obsolete object was written without an edit
    assert "\nknown  " not in said
    assert main([*line, f"--out-bleedover={tmp_path / 'again.svg'}"]) == 0
    assert (tmp_path / "again.svg").read_bytes() == (tmp_path / "bleedover.svg").read_bytes()
    assert (tmp_path / "bleedover.png").stat().st_size > 10_000
