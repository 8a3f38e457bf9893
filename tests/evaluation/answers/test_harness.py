"""Tasks for harnesses of others: what is in them, and that lm-evaluation-harness gets our own answers."""

import copy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from support.asking import ask
from support.commands import refusal
from support.questions import items, write_tables
from support.tiny_models import tiny_model

from factdrift.core.errors import InputError
from factdrift.core.paths import CUTOFF_CHAINS
from factdrift.evaluation.questions.cutoff import CHAINS, questions_of, read_chains
from factdrift.evaluation.questions.items import read_tempripple
from factdrift.evaluation.questions.question import Benchmark, Question, Tables
from factdrift.evaluation.questions.updates import EDITS
from factdrift.evaluation.scores.answers import predictions
from factdrift.evaluation.tools.harness import (
    WrittenQuestions,
    cloze_tasks,
    question_tasks,
    write_tasks,
    written_items,
    written_tasks,
    written_updates,
)

Samples = dict[str, dict[str, dict[str, Any]]]
"""Task -> id of the document -> what the harness logged of it."""

PROMPT, INSTRUCTION = "{context} {cloze}", "Be short."
ASKED = read_chains(CUTOFF_CHAINS)[::80]
CLOZES = [
    {"benchmark": "wikifactdiff", "fact": fact, "role": role, "prompt": prompt, "object": name}
    for fact, prompt in (("Q1-P6", "The head of government of Atlantis is"), ("Q2-P6", "America is led by"))
    for role, name in (("update, new", "Joe Biden"), ("update, old", "a baker"))
]


@pytest.fixture
def tasks(tmp_path) -> Path:
    questions = write_tables(tmp_path)[0]
    asked = written_items("tempripple", questions, PROMPT, "")
    found = [*question_tasks(asked, PROMPT), *cloze_tasks(CLOZES)]
    write_tasks(found, tmp_path / "tasks")
    return tmp_path / "tasks"


def asked_edits(folder: Path) -> Path:
    """A table of one edit, with its own prompt and another one."""
    probes = [
        {"role": role, "place": 0, "object": name, "prompt": prompt, "target": target}
        for role, prompt in (("update", "X is led by"), ("generalization", "The head of X is"))
        for name, target in (("new", "Y"), ("obsolete", "Z"))
    ]
    row = {"edit": "Q1-P6", "prompt": "X is led by", "target": "Y", "new": "Y", "obsolete": "Z"}
    row |= {"relation": "P6", "subject_label": "X", "probes": probes, "fluency": False, "kind": "replace"}
    table = pa.Table.from_pylist([dict.fromkeys(EDITS.names) | row], schema=EDITS)
    pq.write_table(table, folder / "edits.parquet")
    return folder / "edits.parquet"


def test_the_command_needs_no_model_and_no_torch(tmp_path):
    questions, edits, out = write_tables(tmp_path)[0], asked_edits(tmp_path), tmp_path / "out"
    chains = tmp_path / "chains.parquet"
    pq.write_table(pa.Table.from_pylist(ASKED, CHAINS), chains)
    code = (
        "import sys; from factdrift.cli import main; sys.exit(main(sys.argv[1:]) or 'torch' in sys.modules)"
    )
    line = [sys.executable, "-c", code, "answer", "lm-eval", f"--questions=asked={questions}", f"-o={out}"]
    line += [f"--edits={edits}", f"--chains={chains}", f"--prompt={PROMPT}", "--tokens=16"]
    done = subprocess.run(
        [*line, f"--instruction={INSTRUCTION}"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "asked_with_new: 3" in done.stdout
    assert "cutoff: " in done.stdout
    # The harness puts no blank before what is continued.
    docs = pq.read_table(out / "wikifactdiff_update_old.parquet").to_pylist()
    assert docs == [{"id": "Q1-P6", "prompt": "X is led by", "target": " Z"}]


def test_what_cannot_be_a_task_is_named(tasks, tmp_path):
    questions = tmp_path / "tr_items.parquet"
    same = list(question_tasks(written_items("x", questions, PROMPT, ""), PROMPT)) * 2
    for given, said in ((same, "two tasks are called x_with_new"), ([], "no task to write")):
        with pytest.raises(InputError, match=said):
            write_tasks(given, tasks)
    pq.write_table(pa.table({"item_id": ["a"]}), tmp_path / "some.parquet")
    with pytest.raises(InputError, match="no column question, context, options, answer_index, open_only"):
        list(written_items("x", tmp_path / "some.parquet", PROMPT, ""))
    line = ["answer", "lm-eval", "-o", str(tmp_path / "out"), "--questions"]
    assert "is not of the form tempripple=FILE.parquet" in refusal(*line, "tempripple", "--prompt", PROMPT)
    assert "--questions: mine names two tables" in refusal(
        *line, f"mine={questions}", "mine=other.parquet", "--prompt", PROMPT
    )
    assert "it must have {context}" in refusal(*line, f"tempripple={questions}", "--prompt", "{cloze}")
    assert not (tmp_path / "out").exists()


def completed(loaded: Any) -> dict[str, Any]:
    """A cloze test that the model is made to complete, by the weights of the token of its object."""
    prompt, name = "Marta Kowalska lives in", "a"
    whole = loaded.tokenizer(f"{prompt} {name}", return_tensors="pt").input_ids
    hidden = loaded.model(whole[:, :-1], output_hidden_states=True).hidden_states[-1][0, -1]
    loaded.model.get_output_embeddings().weight.data[whole[0, -1]] = hidden.detach()
    return CLOZES[0] | {"fact": "Q3-P6", "prompt": prompt, "object": name}


WORDINGS = [question for _, own in questions_of(ASKED, 0) for question in own if question.role == "wording"]


def test_the_present_of_a_chain_that_nobody_holds_today_is_not_asked():
    chains = [row for row in read_chains(CUTOFF_CHAINS) if row["died"] is None]
    tenures = {row["chain"]: [each for one in row["holders"] for each in one["tenures"]] for row in chains}
    ended = {chain for chain, own in tenures.items() if all(each["last"] for each in own)}
    questions = [question for _, own in questions_of(chains, 0) for question in own]
    (task,) = question_tasks([("cutoff", "", questions)], PROMPT)
    asked = {name.rpartition("#")[0] for name in task.table["id"].to_pylist()}
    assert ended
    assert asked == tenures.keys() - ended


@pytest.fixture(scope="module")
def harnessed(tmp_path_factory) -> Iterator[tuple[Any, Samples]]:
    """An untrained model, and what lm-evaluation-harness got of it on tasks of all kinds."""
    folder = tmp_path_factory.mktemp("harnessed")
    loaded = tiny_model("llama", dtype=torch.float32, positions=192)
    questions, clozes = write_tables(folder)[0], [*CLOZES, completed(loaded)]
    asked = list(written_items("tempripple", questions, PROMPT, ""))
    tasks = [*question_tasks([*asked, ("cutoff", "", WORDINGS)], PROMPT), *cloze_tasks(clozes)]
    tasks += written_tasks(asked, 12)
    write_tasks(tasks, folder / "tasks")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_OFFLINE", "1")
        patch.setenv("HF_HOME", str(folder / "home"))
        from lm_eval import simple_evaluate
        from lm_eval.models.huggingface import HFLM
        from lm_eval.tasks import TaskManager

        done = simple_evaluate(
            HFLM(pretrained=loaded.model, tokenizer=copy.deepcopy(loaded.tokenizer), batch_size=16),
            tasks=sorted({task.group for task in tasks if not task.group.endswith("_chat")}),
            task_manager=TaskManager(include_path=str(folder / "tasks"), include_defaults=False),
            bootstrap_iters=0,
        )
        found = {name: {row["doc"]["id"]: row for row in rows} for name, rows in done["samples"].items()}
        yield loaded, found


def same_answers(asked: list[dict[str, Any]], found: Samples, name: str) -> int:
    """Asserts that the harness is right about the items of a condition where we are; returns their number."""
    ours = {row["item_id"]: row for row in asked if row["condition"] == name}
    theirs = {
        id: row
        for task, rows in found.items()
        if task.startswith(f"tempripple_{name}_")
        for id, row in rows.items()
    }
    assert theirs.keys() == ours.keys()
    assert {id: bool(row["acc"]) for id, row in theirs.items()} == {
        id: row["correct"] for id, row in ours.items()
    }
    for id, row in theirs.items():
        logs = [float(value) for value, _ in row["filtered_resps"]]
        assert logs == pytest.approx(ours[id]["logprobs"], abs=1e-3)
    return len(theirs)


@pytest.mark.parametrize(("condition", "state"), [("without", "none"), ("with", "context")])
def test_the_harness_gets_our_answers(condition, state, harnessed, tmp_path):
    """The likelihoods of options, and what is written with its verdict."""
    given = {"answer_normalise": "sum", "answer_scoring": ["loglik", "written"], "written_tokens": 12}
    ripple, (loaded, found) = read_tempripple(Tables([write_tables(tmp_path)[0]], open_=True)), harnessed
    told = ask(loaded, ripple, tmp_path, state, **given)
    asked = predictions([told.files.answers], [given]).to_pylist()
    options = [row for row in asked if row["scoring"] == "loglik"]
    chosen = {name: rows for name, rows in found.items() if "_written" not in name}
    kinds = {name for name in chosen if name.startswith(f"tempripple_{condition}_")}
    assert {kind.removeprefix(f"tempripple_{condition}_") for kind in kinds} == (
        {"new", "old", "new_related", "old_related"}
    )
    old = {item["item_id"] for item in items() if item["task"] == 2 and not item["open_only"]}
    assert chosen[f"tempripple_{condition}_old"].keys() == old
    assert same_answers(options, chosen, condition) == len(options) == 10
    ours, theirs = {row["question"]: row for row in told.of_way("written")}, {}
    for name, rows in found.items():
        theirs |= rows if name.startswith(f"tempripple_{condition}_written") else {}
    assert theirs.keys() == ours.keys() == {item["item_id"] for item in items()}
    for id, row in theirs.items():
        assert row["resps"][0][0] == ours[id]["output"]
        assert row["filtered_resps"][0] == ours[id]["verdict"]
        assert bool(row["acc"]) == ours[id]["correct"]


def test_the_harness_completes_the_same_clozes(harnessed, tmp_path):
    loaded, found = harnessed
    tasks = {name: rows for name, rows in found.items() if name.startswith("wikifactdiff_")}
    theirs = {f"{name} {id}": row for name, rows in tasks.items() for id, row in rows.items()}
    assert len(theirs) == len(CLOZES) + 1
    clozes = [
        Question(name, prompt=row["doc"]["prompt"], targets=(row["doc"]["target"].strip(),))
        for name, row in theirs.items()
    ]
    answers = ask(loaded, Benchmark("klob", clozes), tmp_path).answers
    assert {row["exact"][0] for row in answers} == {True, False}
    for answer in answers:
        ((logprob, exact),) = theirs[answer["question"]]["filtered_resps"]
        whole = answer["logprobs"][0] * answer["tokens"][0]
        assert (float(logprob), exact) == (pytest.approx(whole, abs=1e-3), answer["exact"][0])


def test_the_harness_finds_the_same_holders_likely(harnessed, tmp_path):
    """After prompts that run once for all holders."""
    (loaded, found), compared = harnessed, 0
    for row in ask(loaded, Benchmark("cutoff", WORDINGS), tmp_path).answers:
        theirs = found["cutoff"].get(row["question"])
        if theirs is None or row["reason"] is not None:
            continue
        assert row["correct"] == (row["parsed"] == theirs["doc"]["answer"])
        scores = zip(row["logprobs"], row["tokens"], theirs["filtered_resps"], strict=True)
        for mean, tokens, (total, _) in scores:
            assert float(total) / tokens == pytest.approx(mean, abs=1e-4)
            compared += 1
    assert compared > 100


@pytest.fixture
def written(tmp_path) -> list[WrittenQuestions]:
    questions = write_tables(tmp_path)[0]
    return list(written_items("tempripple", questions, PROMPT, INSTRUCTION))


def test_a_user_asks_all_items_open_ones_too(written):
    for group, told in (("tempripple_without", False), ("tempripple_with", True)):
        tables = [each.turns for each in written if each.group == group]
        turns = {row["id"]: row for table in tables for row in table.to_pylist()}
        assert len(turns) == len(items())
        for item in items():
            turn, context = turns[item["item_id"]], item["context"] if told else ""
            assert turn["prompt"] == f"{context}\n{item['question']} {INSTRUCTION}".strip()
            others = [name for name in item["options"] or () if name != item["answer_label"]]
            named = [turn[name] for name in ("question", "accepted", "others", "target")]
            assert named == [item["question"], [item["answer_label"]], others, item["answer_label"]]


def test_updates_have_their_old_object(tmp_path):
    update, reworded = written_updates(asked_edits(tmp_path), PROMPT, "")
    assert (update.group, update.kind, reworded.kind) == ("wikifactdiff", "_update", "_generalization")
    (doc,) = update.continued.to_pylist()
    assert (doc["prompt"], doc["accepted"], doc["stale"]) == ("X is led by", ["Y"], ["Z"])
    assert update.turns["prompt"].to_pylist() == ["Who is the head of government of X?"]
    assert len(reworded.turns) == 0  # no second question in words
