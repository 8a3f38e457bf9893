"""A few questions asked by hand: `factdrift ask`."""

import re
import sys
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.asking import saved
from support.commands import printed, refusal
from support.peft_models import write_adapted
from support.questions import write_tables
from support.tiny_models import tiny_model, tiny_tokenizer
from support.updates import dataset, edits

from factdrift.cli import main
from factdrift.evaluation.methods.interface import Edit
from factdrift.evaluation.questions.question import Benchmark, Question
from factdrift.evaluation.tools import cell
from factdrift.models.names import check_name


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A folder with a model, and with a build of TempRIPPLE and of edits."""
    folder = tmp_path_factory.mktemp("world")
    saved(folder / "tiny")
    pair = folder / "results/2021-01-04_2023-02-27"
    for name in ("edit", "tempripple"):
        (pair / name).mkdir(parents=True)
    edits(pair / "edit", limit=3)
    write_tables(pair / "tempripple")
    return folder


@pytest.fixture
def world(folder, monkeypatch) -> Path:
    monkeypatch.chdir(folder)
    return folder


def ask(*words: str) -> int:
    return main(["ask", "tiny", "--settings", '{"device": "cpu", "length": 20}', *words])


@pytest.mark.parametrize(
    ("benchmark", "state", "way"),
    [("tempripple", "none", "letter"), ("updates", "prompt", "loglik"), ("updates", "context", "written")],
)
def test_a_cell_is_shown_as_a_table_and_five_answers(benchmark, state, way, world, capsys):
    assert ask("--benchmark", benchmark, "--state", state, "--way", way, "--limit", "6") == 0
    shown, progress = capsys.readouterr()
    assert "writing" not in progress  # of tables that are gone at the end
    assert f"tiny, {benchmark}: 6 questions" in shown
    counts = map(int, re.findall(r"/(\d+)\)", shown))
    assert sum(counts) == 6 * (1 if state == "none" else 2), shown
    answers = re.findall(r"^  (?:no edit|none|w/ ctx|context|PROMPT): (.+)$", shown, re.MULTILINE)
    assert len(answers) == (5 if state == "none" else 10), shown
    assert benchmark == "updates" or re.search(r"letter, (new|old)( related)?, hop \d", shown)
    if way == "loglik":
        assert all(re.search(r"\d+\.\d\d%", answer) for answer in answers)


def test_what_has_not_been_built_is_named(world, capsys):
    assert ask("--benchmark", "asof") == 1
    assert "no results/streams/*/asof.parquet; build it with `snakemake" in capsys.readouterr().err
    assert ask("--benchmark", "updates", "--way", "letter") == 1
    assert "--way: letter: no question of updates can be asked so" in capsys.readouterr().err
    assert ask("--method", "rome") == 1
    assert "write --state rome" in capsys.readouterr().err


def test_names_that_only_a_hub_knows_are_no_errors():
    for name in (
        "distilgpt2",
        "gpt2",
        "gpt2-xl",
        "openai-gpt",
        "Qwen/Qwen3-4B",
        "owner/sample",
        "sample-gpt2",
    ):
        check_name(name)


EDIT = ["edit", "try", "The head of Peru is", "Ann", "--subject", "Peru"]


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["ask", "sample", "--benchmark", "update"], "update: no such benchmark (did you mean updates?)"),
        (["ask", "sample", "--state", "rom"], "rom: no such method (did you mean rome?)"),
        (
            ["ask", "sample", "--state", "rome", "--set", '{"stepz": 1}'],
            "rome.stepz: no such key (did you mean",
        ),
        (["ask", "sample", "--settings", '{"regme": 1}'], "unknown field `regme` (did you mean regime?)"),
        (["ask", "sample", "--state", "mine.py:edit"], "there is no file mine.py"),
        (["edit", "probe", "--model", "smolm2", "--edits", "x", "-o", "y"], "(did you mean smollm2?)"),
        (["ask", "sample", "--benchmark", "klob"], "build it with `snakemake"),
        (["ask", "smaple"], "smaple: no such model (did you mean sample?)"),
        (["ask", "./smaple"], "./smaple: no such folder"),
        ([*EDIT, "--model", "sample", "--method", "memti"], "memti: no such method (did you mean memit?)"),
        ([*EDIT, "--model", "sample-gtp2", "--method", "rome"], "(did you mean sample-gpt2?)"),
        (["edit", "tune", "sample", "--method", "rom", "-o", "no.yaml"], "(did you mean rome?)"),
        (["models", "describe", "sampel"], "sampel: no such model (did you mean sample?)"),
        (["cutoff", "smaple"], "smaple: no such model (did you mean sample?)"),
        (["cutoff", "sample", "--maker", "soon"], "--maker: 'soon' is no date"),
    ],
)
def test_names_are_checked_before_torch_is_imported(words, meant, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "torch", None)
    message = refusal(*words)
    assert meant in message
    assert " /" not in message, "an absolute path"


def test_updates_of_a_dataset_are_asked_without_a_build(world, capsys):
    dataset(world / "updates.parquet")
    assert ask("--results", "elsewhere", "--dataset", "updates.parquet", "--limit", "0") == 0
    shown = capsys.readouterr().out
    # That the old object is written is no right answer.
    for kind, which in product(("own wording", "other wordings"), ("new", "old")):
        assert f"loglik, {kind}, {which} object" in shown


@pytest.mark.parametrize(("limit", "edits"), [(0, 3), (2, 2)])
def test_questions_about_no_edit_are_asked_after_as_many(limit, edits, monkeypatch):
    monkeypatch.setattr(cell, "excluded", lambda model, benchmark: {})
    questions = [Question(str(number), prompt="The sea is", targets=("deep",)) for number in range(5)]
    told = [Edit(str(number), "The sea is", "sea", "blue") for number in range(3)]
    job: Any = SimpleNamespace(benchmark="klob", way="loglik", seed=0, limit=limit)
    drawn = cell._drawn(job, Benchmark("klob", questions, told), tiny_model("llama"))
    assert (len(drawn.questions), len(drawn.edits)) == (min(limit or 5, 5), edits)


def test_models_that_were_edited_elsewhere_are_asked_any_benchmark(world, capsys):
    """An adapter, merged into the model that it names, answers as the whole model with it in its weights."""
    write_adapted(world, "tiny")
    tiny_tokenizer().save_pretrained(world / "edited")
    said = {}
    for model in ("tiny", "adapter", "edited"):
        asked = ["ask", model, "--settings", '{"device": "cpu"}', "--benchmark", "tempripple", "--limit", "4"]
        assert main(asked) == 0
        said[model] = capsys.readouterr().out.replace(model, "it")
    assert said["adapter"] == said["edited"] != said["tiny"]
    assert re.search("loglik, (new|old)( related)?, hop [0-3]", said["tiny"])


def test_questions_of_ones_own(world, capsys):
    fact = '"subject": "Peru", "prompt": "The head of Peru is", "new_object": "Ann"'
    Path("mine.jsonl").write_text(
        f'{{{fact}, "accepted": "Ann", "stale": "Bob", "kind": "told"}}\n'
        '{"question": "Whom does Peru obey?", "accepted": ["Ann"], "kind": "stays"}\n'
    )
    assert ask("--questions", "mine.jsonl", "--state", "ft", "--way", "loglik") == 0
    shown = capsys.readouterr().out
    assert "tiny, mine: 2 questions, FT" in shown
    assert re.search(r"^ +loglik, stays +loglik, told$", shown, re.MULTILINE)
    assert re.search(r"^FT +[01]\.000 \(\d/1\) +1\.000 \(1/1\)$", shown, re.MULTILINE)
    assert re.search(r"^  no edit: Ann \d+\.\d\d%, Bob \d+\.\d\d%$", shown, re.MULTILINE)
    assert "mine.jsonl, line 2: without subject, prompt and new_object" in shown
    assert ask("--questions", "mine.jsonl", "--way", "letter") == 1
    assert "line 1, line 2: not asked with --way letter" in capsys.readouterr().err
    Path("mine.jsonl").write_text('{"prompt": "The head of Peru is", "accepted": ["Ann"]}\n')
    assert ask("--questions", "mine.jsonl", "--state", "ft") == 1
    assert "no line of mine.jsonl says what the model is given" in capsys.readouterr().err


@pytest.mark.slow
def test_methods_are_run_on_a_model_and_compared(world):
    dataset(world / "wfd_repl.parquet")
    Path("mine.py").write_text("def edit(model, tokenizer, update):\n    pass\n")
    words = [
        "compare",
        "ft",
        "prompt",
        "mine.py:edit",
        "--model",
        "tiny",
        "--limit",
        "3",
        "--output",
        "compared",
    ]
    words += ["--dataset", "wfd_repl.parquet", "--settings", '{"device": "cpu", "length": 20}']
    said = printed(*words)
    assert re.search(
        r"^tiny: 3 updates, \d+ questions a method; to run: no edit, FT, PROMPT, mine$", said, re.M
    )
    assert re.search(r"^questions of 3 methods: about \d+ s, besides the time of the edits$", said, re.M)
    assert re.search(r"^updates \(replace\) of tiny, over the same 3 updates, mine against FT: ", said, re.M)
    kept = {path: path.stat().st_mtime_ns for path in world.glob("compared/runs/*/*.parquet")}
    assert len(kept) == 12
    again = printed(*words)
    assert "to run: nothing, all is kept" in again
    assert said[said.index("updates (") :] == again[again.index("updates (") :]
    assert kept == {path: path.stat().st_mtime_ns for path in world.glob("compared/runs/*/*.parquet")}
    Path("mine.py").write_text("def edit(model, tokenizer, update):\n    return None\n")
    assert "to run: mine\n" in printed(*words)
    assert main([*words[:5], "tyni", *words[6:]]) == 1
    assert "rom: no such method (did you mean rome?)" in refusal("compare", "ft", "rom", *words[4:])
