"""Edits and probes as turns of a chat: against transformers one by one, and what does not fit together."""

import copy
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import torch
from support.asking import ask, command, saved, settings_with
from support.commands import files, printed
from support.tiny_edits import tiny_artefacts, tiny_hyper
from support.tiny_models import tiny_model
from support.updates import edits

from factdrift.evaluation.methods.interface import Prepared
from factdrift.evaluation.questions.clozes import read_edits
from factdrift.evaluation.questions.prompts import filled
from factdrift.evaluation.questions.question import Benchmark, Question
from factdrift.evaluation.scores.table import CHAT
from factdrift.evaluation.session import Session, excluded
from factdrift.evaluation.states.edited import Condition
from factdrift.models.deltas import written
from factdrift.models.loaded import Loaded

TEMPLATE = "{% for turn in messages %}Q\n{{ turn.content }}\n{% endfor %}"
TEMPLATE += "{% if add_generation_prompt %}A{{ '\n' }}{% endif %}"
CPU = ("--settings", '{"device": "cpu", "dtype": "float32", "batch": 2, "length": 20}')
PROMPT = "The head of government of Atlantis is"


def chatting(template: str = "chat") -> Loaded:
    """A tiny model whose tokenizer has a chat template."""
    loaded = tiny_model("llama", dtype=torch.float32, positions=160)
    tokenizer = copy.deepcopy(loaded.tokenizer)
    tokenizer.chat_template = TEMPLATE
    object.__setattr__(loaded, "tokenizer", tokenizer)
    return loaded.with_template(template)


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> Path:
    """A folder with edits, and a tiny model in the layout of transformers."""
    folder = tmp_path_factory.mktemp("world")
    edits(folder, fluency_sample=0.5)
    loaded = chatting()
    loaded.model.save_pretrained(folder / "model")
    loaded.tokenizer.save_pretrained(folder / "model")
    return folder


def updates_of(world: Path, most: int | None = None) -> Benchmark:
    """The updates, or the first ones."""
    found = read_edits(world / "edits.parquet")
    assert excluded(chatting(), found) == {}
    return found.without([edit.id for edit in found.edits[len(found.edits) if most is None else most :]])


def asked(loaded: Loaded, content: str) -> list[int]:
    """The tokens of a conversation up to the answer."""
    turns = [{"role": "user", "content": content}]
    return loaded.tokenizer.apply_chat_template(turns, add_generation_prompt=True, return_dict=False)


def chance(loaded: Loaded, content: str, answer: str) -> float:
    """The mean log-probability of an answer to a user, by transformers."""
    ids = asked(loaded, content)
    target = loaded.tokenizer(answer, add_special_tokens=False)["input_ids"]
    logits = loaded.model(torch.tensor([ids + target])).logits[0].log_softmax(-1)
    return logits[len(ids) - 1 : -1].gather(1, torch.tensor(target)[:, None]).mean().item()


def asked_of(updates: Benchmark) -> dict[str, Question]:
    return {each.id: each for each in updates.questions}


def test_the_unedited_model_answers_a_user(world, tmp_path):
    loaded, updates, settings = chatting(), updates_of(world), settings_with(written_tokens=4)
    found, questions = ask(loaded, updates, tmp_path, written_tokens=4), asked_of(updates)
    assert {row["question"] for row in found.answers} == set(questions)
    assert {row["template"] for row in found.edits} == {"chat"}
    for row in found.of_way("loglik"):
        question = questions[row["question"]]
        wanted = chance(loaded, question.prompt, question.targets[0])
        assert row["logprobs"] == pytest.approx([wanted], abs=1e-4)
    for row in found.of_way("written"):
        turn = f"{{question}} {settings.written_instruction}".strip()
        ids = torch.tensor([asked(loaded, filled(turn, questions[row["question"]]))])
        said = loaded.model.generate(ids, max_new_tokens=settings.written_tokens, do_sample=False)
        said = said[0, ids.shape[1] :]
        assert row["output"]
        assert loaded.tokenizer.decode(said, skip_special_tokens=True).startswith(row["output"])


def test_a_template_takes_nothing_of_a_long_continuation(world):
    session = Session(chatting(), settings_with())
    for question in updates_of(world).questions:
        content = len(session.loaded.tokenizer(question.prompt)["input_ids"])
        assert abs(session.room(question.prompt) - (session.settings.length - content)) <= 1


def test_probes_of_an_edit_are_those_of_the_changed_model_that_a_user_asks(world, tmp_path):
    loaded, updates = chatting(), updates_of(world, 2)
    hyper, artefacts = tiny_hyper("rome", steps=25, lr=0.5), tiny_artefacts(loaded)
    found = ask(loaded, updates, tmp_path, hyper, artefacts=artefacts, written_tokens=1)
    questions = asked_of(updates)
    assert [(row["template"], row["failed"]) for row in found.edits] == [("chat", None)] * 2
    logprobs = found.logprobs()
    condition = Condition(Prepared(hyper, artefacts), "independent")
    with condition.opened(loaded) as state, state.apply(updates.edits) as placed:
        for owner, edit in enumerate(updates.edits):
            with written(loaded.model, placed.made.deltas, owner):
                for (name, of), value in logprobs.items():
                    if of == edit.id:
                        question = questions[name]
                        wanted = chance(loaded, question.prompt, question.targets[0])
                        assert value == pytest.approx(wanted, abs=1e-3)
            # The edit raises its object as the answer to the user.
            assert logprobs[f"{edit.id}#0", edit.id] > chance(loaded, edit.prompt, edit.target) + 0.1


def test_a_model_without_a_template_is_refused(tmp_path, capsys):
    model, path = saved(tmp_path / "model"), edits(tmp_path, fluency_sample=0)
    command(model, tmp_path / "none", "updates", [path], "none", "--template", "chat", code=1)
    said = capsys.readouterr().err
    assert "edit.template: the tokenizer of" in said
    assert "has no chat template" in said


def test_a_checkpoint_is_probed_in_the_template(world, tmp_path):
    line = ["edit", "probe", *files(world, model="model", base="model", edits="edits.parquet"), *CPU]
    line += ["--only", "Q1-P6", "--name", "same"]
    assert CHAT in printed(*line, "--template", "chat", "--output", str(tmp_path / "one"))
    found = pq.read_table(tmp_path / "one/edit_scores.parquet").to_pylist()
    assert {row["template"] for row in found} == {"chat"}
    none, same = found
    assert same["p_new"] == pytest.approx(none["p_new"], abs=1e-6)
    probes = pq.read_table(tmp_path / "one/probes.parquet").to_pylist()
    probe = next(one for one in probes if one["object"] == "new")
    assert probe["logprob"] == pytest.approx(chance(chatting(), probe["prompt"], probe["target"]), abs=1e-4)
