"""One edit to look at, and the advice where something is missing."""

import json
import re
import shlex
from pathlib import Path

import pytest
from support.asking import command, saved, scoring
from support.commands import printed, refusal
from support.updates import dataset, edits

from factdrift.cli import main
from factdrift.evaluation.tools.attempt import find_around

from .test_template import TEMPLATE

PROMPT = "The head of government of Atlantis is"


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    return saved(tmp_path_factory.mktemp("tiny-llama"))


def test_old_object_paraphrases_and_neighbours_come_from_the_dataset(tmp_path):
    path = dataset(tmp_path / "dataset.parquet")
    found = find_around(path, "The head of government of the Atlantis is", "Atlantis", "Ada")
    assert [(title, label) for _, title, _, label in found[:3]] == [
        ("old object", "Marta Kowalska"),
        ("Atlantis has a government led by ...", "Ada"),
        ("At the head of Atlantis stands ...", "Ada"),
    ]
    assert found[3][2:] == ("The head of government of New Orleans is", "Zoë Müller")
    # Of a subject that the dataset does not have, the others' facts in the same words.
    other = find_around(path, "The head of government of Lemuria is", "Lemuria", "Ada")
    assert {heading for heading, *_ in other} == {"Neighbours, which should stay"}
    assert other[0][2:] == (PROMPT, "Marta Kowalska")
    assert find_around(tmp_path / "none.parquet", PROMPT, "Atlantis", "Ada") == []


def trying(model: Path, *arguments: str) -> list[str]:
    line = ["edit", "try", PROMPT, "Joe Biden", "--subject", "Atlantis", "--model", str(model)]
    return [*line, "--settings", '{"device": "cpu"}', *arguments]


def test_before_and_after_are_shown(model, tmp_path):
    path = dataset(tmp_path / "dataset.parquet")
    whole = printed(*trying(model, "--method", "prompt", "--dataset", str(path)))
    said = whole.splitlines()
    assert said[0].startswith("PROMPT on ")
    assert said[2] == f"{PROMPT} ..."
    assert said[3].split() == ["before", "after"]
    assert all("%" in line for line in said[4:9])
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
        (["--method", "ultraedit"], "ultraedit cannot edit so (it compares the edits of a group"),
    ],
)
def test_a_missing_input_is_reported(arguments, message, model):
    assert message in refusal(*trying(model, *arguments))


def test_moments_are_kept_and_the_command_for_an_editor_has_the_users_values(model, tmp_path, capsys):
    def said(*more: str) -> tuple[str, str]:
        assert main(trying(model, *rome, *more)) == 0
        return capsys.readouterr()

    values = '{"layer": 1, "prefixes": [{"start": "", "tokens": 3, "number": 2}]}'
    rome = ("--results", str(tmp_path), "--method", "rome", "--set", values)
    # What needs the model alone is made on the way.
    (first, made), (second, kept) = said(), said()
    assert re.search(r"moments of block 1 of .*over 20,000 tokens that the model writes: made once", made)
    (folder,) = re.findall(r"tokens that the model writes: as kept in (.+)", kept)
    third, last = said("--moments", folder)
    assert first == second == third
    assert "second moments" not in last
    (model / "chat_template.jinja").write_text(TEMPLATE, encoding="utf-8")
    mend = ("--results", str(tmp_path), "--method", "mend", "--set", '{"blocks": 2}', "--template", "chat")
    said = refusal(*trying(model, *mend))
    assert "needs mend.safetensors, which is not under" in said
    command = shlex.split(said.split("`")[1])
    given = dict(each.split("=", 1) for each in command[command.index("--config") + 1 :])
    assert json.loads(given["models"]) == [str(model)]
    assert json.loads(given["methods"]) == ["mend"]
    assert json.loads(given["mend"]) == {"blocks": 2}
    assert json.loads(given["edit"]) == {"template": "chat"}


def test_the_jobs_by_hand(model, tmp_path):
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
    line = ["edit", "scores", f"--edits={path}", *scoring(jobs, tmp_path), "--models", model]
    line += ["--costs", *(job.path("json") for job in jobs[1:]), "--methods", "none", "prompt"]
    said = printed(*line, "--out-bleedover", tmp_path / "bleedover.svg", tmp_path / "bleedover.png")
    (costs,) = json.loads((tmp_path / "costs.json").read_text(encoding="utf-8"))
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
    printed(*line, f"--out-bleedover={tmp_path / 'again.svg'}")
    assert (tmp_path / "again.svg").read_bytes() == (tmp_path / "bleedover.svg").read_bytes()
    assert (tmp_path / "bleedover.png").stat().st_size > 10_000
