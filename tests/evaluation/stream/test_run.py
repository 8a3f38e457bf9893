"""Edits of a stream: one sequence in parts, what is kept beside the model, and what leaves it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from support.asking import Told, ask
from support.own_methods import write_examples
from support.stream_updates import link, stream_edits
from support.tiny_edits import EDITS, tiny_artefacts, tiny_hyper
from support.tiny_models import tiny_model

from factdrift.core.errors import CannotEdit, InputError
from factdrift.evaluation.methods.hyperparameters import Hyper, read_hyper
from factdrift.evaluation.methods.interface import Artefacts, Edit, Prepared
from factdrift.evaluation.methods.memit import shortened, solve
from factdrift.evaluation.questions.clozes import read_edits
from factdrift.evaluation.questions.question import Benchmark, Question
from factdrift.evaluation.states.edited import Condition, edited, folded, size_of
from factdrift.models.deltas import Dense, LowRank

pytestmark = pytest.mark.filterwarnings("ignore:second moments")
ROUNDS = {"ft": 3, "lora": 9, "ultraedit": 9, "alphaedit": 20}
"""Of five edits each, until what is kept does not grow any more."""


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> Benchmark:
    return read_edits(stream_edits(tmp_path_factory.mktemp("world") / "edits.parquet"))


def made(world: Benchmark, out: Path, hyper: Hyper, **options: Any) -> Told:
    """What a stream gives, or other `options`."""
    loaded = tiny_model("llama")
    artefacts = tiny_artefacts(loaded) if hyper.method in ("alphaedit", "replay", "wise") else None
    given = {"stream": True} | options
    found = ask(loaded, world, out, hyper, artefacts=artefacts, **given)
    assert [part["edits"] for part in found.costs] == [row["edits"] for row in found.states]
    return found


def in_sequence(world: Benchmark, out: Path, hyper: Hyper) -> dict[tuple[str, str], float | None]:
    """(question, edit) -> log-probability with all edits in place, by the regime `sequential`."""
    group = {"regime": "sequential", "group": len(world.edits)}
    return made(world, out / "sequence", hyper, stream=False, **group).logprobs()


@pytest.mark.parametrize("method", ["lora", "merge", "replay", "grace", "wise", "context_all", "rag"])
def test_one_interval_is_a_sequence(method, tmp_path):
    """Of those whose turns do not cross intervals the test below shows more."""
    objects = {"Atlantis": "Marta", "New Orleans": "Joe Biden", "Poseidonis": "a baker"}
    rows = [
        link(name, number, 1, 1, ("Joe", object), day=9 - number)
        for number, (name, object) in enumerate(objects.items(), start=1)
    ]
    world, hyper = read_edits(stream_edits(tmp_path / "edits.parquet", rows)), tiny_hyper(method)
    told = made(world, tmp_path, hyper)
    expected = in_sequence(world, tmp_path, hyper)
    assert len(told.states) == 1
    assert {row["kind"] for row in told.answers} == {"current", "neighbors"}
    found = told.logprobs()
    assert found.keys() == expected.keys()
    for key, value in found.items():
        assert value == pytest.approx(expected[key], abs=1e-9)
    # The order of the changes is that of the edits.
    assert [row["edit"] for row in told.edits] == ["Q3-P6@1", "Q2-P6@1", "Q1-P6@1"]


@pytest.mark.parametrize("method", ["ft", "ultraedit", "alphaedit"])
def test_what_is_in_place_after_all_intervals_is_one_sequence(method, world, tmp_path):
    """Where turns do not cross intervals, which are of one edit each here."""
    hyper = tiny_hyper(method, **({} if method == "ft" else {"turn": 1}))
    expected = in_sequence(world, tmp_path, hyper)
    told = made(world, tmp_path, hyper)
    last = [row for row in told.answers if (row["interval"], row["way"]) == (4, "loglik")]
    assert {row["kind"] for row in last} == {"current", "neighbors", "retention", "staleness"}
    for row in last:
        assert row["logprobs"] == pytest.approx([expected[row["question"], row["edit"]]], abs=1e-8)


def test_a_plain_method_stays_in_the_model(world, tmp_path):
    given = f"{write_examples(tmp_path)}/mine.py:edit"
    found = made(world, tmp_path, read_hyper(given, "tiny", {"layer": 1, "lr": 0.01, "steps": 2}))
    assert {row["state_bytes"] for row in found.states} == {None}
    # It is fine-tuning, which changes what the model says interval by interval.
    again = [row for row in found.of_way("loglik") if row["kind"] == "retention"]
    assert len({row["logprobs"][0] for row in again if row["question"] == "Q2-P6@1#0"}) == 3


def test_what_is_superseded_leaves_codebook_and_index(world, tmp_path):
    entries = {1: 2, 2: 3, 3: 4, 4: 4}
    for method in ("grace", "rag"):
        states = made(world, tmp_path / method, tiny_hyper(method)).states
        assert {row["interval"]: row["entries"] for row in states} == entries
    other = Benchmark("asof", [Question("q", prompt="The sea is", targets=("blue",))])
    asked = ask(tiny_model("llama"), other, tmp_path / "other", tiny_hyper("prompt"), stream=True, told=world)
    for name in ("interval", "old_date", "new_date", "so_far"):
        assert [row[name] for row in asked.states] == [row[name] for row in states]
    with Condition(Prepared(tiny_hyper("prompt"), Artefacts()), "stream").opened(tiny_model("llama")) as told:
        for edit in world.edits[:5]:
            with told.apply([edit]) as placed:
                pass
        # The three rulers of Atlantis: of each the last one is told.
        names = ("Q1-P6@1", "Q1-P6@2", "Q1-P6@3", "Q2-P6@1")
        texts = placed.before([Question("q")] * 4, names)
        assert ["Marta Kowalska" in text for text in texts] == [True] * 4
        assert len(set(texts)) == 2


def test_an_entry_stays_while_another_edit_needs_it_and_a_codebook_continued_is_one_made_at_once():
    """Two prompts with the same object share an entry, if the radius is great."""
    loaded, hyper = tiny_model("llama"), tiny_hyper("grace", radius=1e4)
    shared = [EDITS[0], Edit("f", "The head of government of Atlantis is", "Atlantis", EDITS[0].target)]
    first = edited(loaded, shared, hyper, Artefacts(), "stream")
    assert [entry.names for entry in first.memory] == [("a", "f")]
    for gone, left in ((("a",), [("f",), ("e",)]), (("a", "f"), [("e",)])):
        after = replace(EDITS[-1], replaces=gone)
        found = edited(loaded, [after], hyper, Artefacts(memory=first.memory), "stream")
        assert [entry.names for entry in found.memory] == left
    hyper = tiny_hyper("grace", radius=3.0)
    whole, memory = edited(loaded, EDITS, hyper, Artefacts(), "stream"), None
    for edit in EDITS:
        part = edited(loaded, [edit], hyper, Artefacts(memory=memory), "stream")
        memory = part.memory
    (one,), (other,) = whole.codebooks.values(), part.codebooks.values()
    # Sentences in one batch are padded, which rounds otherwise.
    for name in ("keys", "radii", "values"):
        assert torch.allclose(getattr(one, name), getattr(other, name), atol=1e-9)


def test_memory_does_not_grow():
    """After the first rounds the bytes that are kept beside the model stay the same."""
    loaded = tiny_model("llama")
    for method, rounds in ROUNDS.items():
        sizes = []
        artefacts = tiny_artefacts(loaded) if method == "alphaedit" else Artefacts()
        hyper = tiny_hyper(method, **({} if method == "ultraedit" else {"steps": 1}))
        with Condition(Prepared(hyper, artefacts), "stream").opened(loaded) as held:
            for place in range(rounds):
                target = EDITS[place % 5].target
                with held.apply([replace(edit, id=f"{edit.id}{place}", target=target) for edit in EDITS]):
                    sizes.append(held.size()[0])
        assert sizes[-1] == sizes[-3], method
        assert sizes[-1] == max(sizes)  # so they have grown to it, and no further


def test_a_long_memory_is_replaced_by_one_of_the_same_products():
    torch.manual_seed(0)
    earlier, keys = (torch.randn(count, 20, dtype=torch.float64) for count in (70, 3))
    assert torch.equal(shortened(earlier[:20]), earlier[:20])
    short = shortened(earlier)
    assert short.shape == (20, 20)
    residuals, hyper = torch.randn(3, 6, dtype=torch.float64), tiny_hyper("alphaedit", covariance=False)
    solved = (solve(keys[None], residuals[None], hyper, None, memory) for memory in (earlier, short))
    one, other = (write[0].T @ read[0] for read, write in solved)
    assert (one - other).norm() < 1e-9 * one.norm()


def test_factors_become_a_matrix_where_that_is_smaller():
    small = LowRank(torch.randn(1, 8, 2), torch.randn(1, 6, 2))
    large = LowRank(torch.randn(1, 8, 4), torch.randn(1, 6, 4))
    assert folded(small) is small
    found = folded(large)
    assert isinstance(found, Dense)
    assert torch.allclose(found.weight[0], large.dense(0)[0], atol=1e-6)
    assert folded(found) is found
    assert size_of(found) == 8 * 6 * 4 < size_of(large)


def test_texts_and_a_memory_that_no_file_can_hold_are_not_for_a_stream(tmp_path):
    head = "from factdrift.evaluation.methods.interface import Edited\n"
    head += "def edit(loaded, edits, hyper, artefacts):\n"
    (tmp_path / "texts.py").write_text(f"{head}    return Edited(contexts=['' for _ in edits])\n")
    (tmp_path / "keeps.py").write_text(f"{head}    return Edited(memory=lambda: 1)\n")
    loaded = tiny_model("llama")
    texts, keeps = (read_hyper(f"{tmp_path}/{name}.py:edit", "tiny", {}) for name in ("texts", "keeps"))
    for regime in ("sequential", "stream"):
        with pytest.raises(CannotEdit, match=f"{regime}: texts puts texts before prompts"):
            edited(loaded, EDITS, texts, Artefacts(), regime)
    with Condition(Prepared(keeps, Artefacts()), "stream").opened(loaded) as held:
        with held.apply(EDITS[:1]):
            pass
        with pytest.raises(InputError, match=r"keeps\.py:edit: the memory that it returned cannot be kept"):
            held.save(tmp_path / "state.pt")


def test_failed_edits_are_named_and_leave_no_trace(tmp_path):
    rows = [link("Atlantis", 1, 1, 1, ("Joe", "Marta")), link("the sea", 5, 2, 1, ("Joe", "Marta"))]
    world = read_edits(stream_edits(tmp_path / "edits.parquet", rows))
    assert [row["failed"] for row in made(world, tmp_path, tiny_hyper("ft")).edits] == [None, None]
    with Condition(Prepared(tiny_hyper("ft"), Artefacts()), "stream").opened(tiny_model("llama")) as held:
        with held.apply([world.edits[0]]) as placed:
            before = placed.made.deltas
        with held.apply([Edit("x", "No subject here is", "Mu" * 300, "Marta " * 600)]) as placed:
            assert placed.failed("x") is not None
            after = placed.made.deltas
    assert size_of(before) > 0
    for name, delta in before.items():
        assert torch.equal(delta.dense(0)[0], after[name].dense(0)[0])
