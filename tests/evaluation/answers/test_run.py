"""Asking an untrained model TempRIPPLE: against transformers one by one, edited, and what cannot be asked."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="language models are installed with `make models`")
from support.asking import Told, ask, chance, settings_with, state_of  # noqa: E402
from support.questions import items, write_tables  # noqa: E402
from support.tiny_edits import add_method, shifted  # noqa: E402
from support.tiny_models import tiny_model  # noqa: E402

from factdrift.core.errors import InputError  # noqa: E402
from factdrift.evaluation.methods.interface import Artefacts  # noqa: E402
from factdrift.evaluation.questions.items import edits_of, of_statements, read_items  # noqa: E402
from factdrift.evaluation.questions.prompts import cloze_of, filled, parsed  # noqa: E402
from factdrift.evaluation.questions.question import Benchmark, Question  # noqa: E402
from factdrift.evaluation.session import Session  # noqa: E402
from factdrift.evaluation.ways import letter, loglik  # noqa: E402
from factdrift.evaluation.ways.asked import Asked  # noqa: E402
from factdrift.models.alignment import align  # noqa: E402
from factdrift.models.deltas import written  # noqa: E402
from factdrift.models.loaded import Loaded  # noqa: E402
from factdrift.models.writing import Begun  # noqa: E402

FAILING = "Q2-P6"
SHIFTED = state_of("shifted", failing=FAILING)


@pytest.fixture(autouse=True)
def _methods(monkeypatch: pytest.MonkeyPatch) -> None:
    add_method(monkeypatch, "shifted", shifted)


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return write_tables(tmp_path_factory.mktemp("tables"))


@pytest.fixture(scope="module")
def ripple(tables: tuple[Path, Path]) -> Benchmark:
    return of_statements(read_items(tables[0]), tables[1])


def tiny(family: str = "llama") -> Loaded:
    return tiny_model(family, positions=192)


def told(ripple: Benchmark, out: Path, state: Any, family: str = "llama", **settings: Any) -> Told:
    return ask(tiny(family), ripple, out, state, **settings)


def of_id(ripple: Benchmark) -> dict[str, Question]:
    return {each.id: each for each in ripple.questions}


@pytest.mark.parametrize(
    ("family", "normalise", "state"), [("llama", "mean", "none"), ("gptj", "sum", "context")]
)
def test_likelihoods_are_those_of_transformers_one_by_one(
    family: str, normalise: str, state: str, ripple: Benchmark, tmp_path: Path
) -> None:
    given = {"answer_scoring": ["loglik"], "answer_normalise": normalise, "batch": 4}
    found = told(ripple, tmp_path, state, family, **given)
    assert len(found.answers) == 10
    for row in found.answers:
        question = of_id(ripple)[row["question"]]
        context = question.context if state == "context" else ""
        prompt = f"{context} {cloze_of(question.words)}".strip()
        plain = [chance(tiny(family), prompt, option) for option in question.targets]
        assert row["logprobs"] == pytest.approx(plain, abs=1e-5)
        whole = [chance(tiny(family), prompt, option, normalise == "sum") for option in question.targets]
        assert row["parsed"] == whole.index(max(whole))
        assert row["correct"] == (row["parsed"] == question.answer)


def test_letters_are_what_transformers_writes_one_by_one(ripple: Benchmark, tmp_path: Path) -> None:
    prompt, loaded = "{context} {options} {question}", tiny("gptj")
    given = {"answer_scoring": ["letter"], "answer_tokens": 5, "answer_prompts_letter": prompt, "batch": 4}
    for row in told(ripple, tmp_path, "context", "gptj", **given).answers:
        question = of_id(ripple)[row["question"]]
        text = filled(prompt, question, question.context)
        ids = torch.tensor([align(loaded.tokenizer, text).ids])
        said = loaded.model.generate(ids, max_new_tokens=5, do_sample=False)[0, ids.shape[1] :]
        assert row["output"] == loaded.tokenizer.decode(said, skip_special_tokens=True)
        assert row["parsed"] == parsed(row["output"], question.targets)
        assert row["correct"] == (row["parsed"] == question.answer)


def test_a_chat_template_makes_the_prompt_a_turn(ripple: Benchmark, monkeypatch: pytest.MonkeyPatch) -> None:
    prompt = "{context} {question} {options}"
    keys = {"answer_scoring": ["letter"], "answer_tokens": 1, "answer_prompts_letter": prompt}
    asked, seen = [Asked(ripple.questions[0])], list[str]()
    loaded = tiny()

    def said(self: Session, rows: Sequence[Begun], *_: Any) -> list[list[int]]:
        seen.extend(loaded.tokenizer.decode(row.ids) for row in rows)
        return [[] for _ in rows]

    monkeypatch.setattr(Session, "written", said)
    template = "{% for turn in messages %}<{{ turn.role }}>{{ turn.content }}{% endfor %}"
    template += "{% if add_generation_prompt %}<me>{% endif %}"
    monkeypatch.setattr(loaded.tokenizer, "chat_template", template)
    list(letter.ask(Session(loaded, settings_with(**keys)), asked, {}))
    plain = filled(prompt, asked[0].question)
    assert seen == [f"<user>{plain}<me>"]
    list(letter.ask(Session(loaded, settings_with(**keys, answer_chat_template="none")), asked, {}))
    assert seen[1:] == [plain]


def test_each_item_is_asked_under_its_own_edit(ripple: Benchmark, tmp_path: Path) -> None:
    loaded = tiny()
    # Batches of four are of several edits.
    found = told(ripple, tmp_path, SHIFTED, answer_scoring=["loglik"], batch=4).answers
    assert {row["question"] for row in found} == set(of_id(ripple))
    made = shifted(loaded, ripple.edits, SHIFTED.hyper, Artefacts())
    for row in found:
        question = of_id(ripple)[row["question"]]
        assert row["edit"] == question.edit
        if question.edit == FAILING:
            assert (row["reason"], row["correct"], row["parsed"]) == ("edit_failed", None, None)
            continue
        place = [edit.id for edit in ripple.edits].index(question.edit)
        with written(loaded.model, made.deltas, place):
            plain = [chance(loaded, cloze_of(question.words), option) for option in question.targets]
        assert row["logprobs"] == pytest.approx(plain, abs=1e-6)


def test_edits_in_sequence_are_asked_when_all_of_a_group_are_made(ripple: Benchmark, tmp_path: Path) -> None:
    loaded, settings = tiny(), {"regime": "sequential", "group": 3, "answer_scoring": ["loglik"]}
    rows = told(ripple, tmp_path, SHIFTED, **settings).answers
    lasting = [edit for edit in ripple.edits if edit.id != FAILING]
    made = shifted(loaded, lasting, SHIFTED.hyper, Artefacts())
    row = next(row for row in rows if row["edit"] == "Q1-P6")
    question = of_id(ripple)[row["question"]]
    with written(loaded.model, made.deltas, 0), written(loaded.model, made.deltas, 1):
        plain = chance(loaded, cloze_of(question.words), question.targets[0])
    assert row["logprobs"][0] == pytest.approx(plain, abs=1e-6)


def test_an_edit_states_what_the_context_states(tables: tuple[Path, Path]) -> None:
    edits = edits_of(read_items(tables[0]), tables[1])
    assert [edit.id for edit in edits] == ["Q1-P6", "Q2-P6", "Q3-P6"]
    stated = "The most recent head of government of Atlantis is", "Atlantis", "Joe Biden"
    assert (edits[0].prompt, edits[0].subject, edits[0].target) == stated
    others = [{**item, "context": item["context"].replace("Joe", "Jo")} for item in items()]
    with pytest.raises(InputError, match="not what its context says"):
        edits_of(others, tables[1])
    with pytest.raises(InputError, match="no new fact of Q9-P6"):
        edits_of([{**items()[0], "s": "Q9"}], tables[1])


@pytest.mark.parametrize("way", ["letter", "loglik"])
def test_a_prompt_that_just_fits_is_asked(way: str, ripple: Benchmark) -> None:
    """What is longer by one token than the model has positions is too long."""
    settings, loaded = settings_with(answer_tokens=3), tiny()
    is_letter, question = way == "letter", ripple.questions[0]
    prompt = filled(settings.answer_prompts_letter if is_letter else settings.answer_prompts_loglik, question)
    ends = [""] if is_letter else question.targets
    longest = max(len(align(loaded.tokenizer, prompt, end).ids) for end in ends)
    longest += settings.answer_tokens * is_letter
    for positions, reason in ((longest, None), (longest - 1, "too_long")):
        spec = dataclasses.replace(loaded.spec, positions=positions)
        session = Session(dataclasses.replace(loaded, spec=spec), settings)
        (row,) = (letter if is_letter else loglik).ask(session, [Asked(question)], {})
        assert row.get("reason") == reason
        assert ("correct" in row) == (reason is None)
