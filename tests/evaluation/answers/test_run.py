"""Asking an untrained model: against transformers one by one, edited, in writing, and cloze tests."""

import copy
import dataclasses
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from support.asking import ask, chance, settings_with, state_of
from support.questions import items, write_tables
from support.tiny_edits import add_method, shifted
from support.tiny_models import tiny_model

from factdrift.core.errors import InputError
from factdrift.evaluation.methods.interface import Artefacts
from factdrift.evaluation.plan import PlannedQuestion
from factdrift.evaluation.questions.items import edits_of, read_items, read_tempripple
from factdrift.evaluation.questions.letters import chosen
from factdrift.evaluation.questions.prompts import cloze_of, filled, shots_before
from factdrift.evaluation.questions.question import Benchmark, Question, Tables
from factdrift.evaluation.session import Session
from factdrift.evaluation.ways import options
from factdrift.evaluation.ways import written as in_writing
from factdrift.models.alignment import align
from factdrift.models.deltas import written
from factdrift.models.loaded import Loaded
from factdrift.models.writing import Generation
from factdrift.tempripple.schemas import TR_ITEMS, write_rows

FAILING = "Q2-P6"
SHIFTED = state_of("shifted", failing=FAILING)


@pytest.fixture(autouse=True)
def _methods(monkeypatch) -> None:
    add_method(monkeypatch, "shifted", shifted)


@pytest.fixture(scope="module")
def ripple(tmp_path_factory) -> Benchmark:
    chosen, facts = write_tables(tmp_path_factory.mktemp("tables"))
    return read_tempripple(Tables([chosen], facts=facts))


def tiny(family: str = "llama") -> Loaded:
    return tiny_model(family, positions=192)


def of_id(ripple: Benchmark) -> dict[str, Question]:
    return {each.id: each for each in ripple.questions}


@pytest.mark.parametrize(
    ("family", "normalise", "state"), [("llama", "mean", "none"), ("gptj", "sum", "context")]
)
def test_likelihoods_are_those_of_transformers_one_by_one(family, normalise, state, ripple, tmp_path):
    given = {"answer_scoring": ["loglik"], "answer_normalise": normalise, "batch": 4}
    loaded = tiny(family)
    found = ask(loaded, ripple, tmp_path, state, **given).answers
    assert len(found) == 10
    for row in found:
        question = of_id(ripple)[row["question"]]
        context = question.context if state == "context" else ""
        prompt = f"{context} {cloze_of(question.words)}".strip()
        plain = [chance(loaded, prompt, option) for option in question.targets]
        assert row["logprobs"] == pytest.approx(plain, abs=1e-5)
        whole = [chance(loaded, prompt, option, normalise == "sum") for option in question.targets]
        assert row["parsed"] == whole.index(max(whole))
        assert row["correct"] == (row["parsed"] == question.answer)


def test_letters_are_what_transformers_writes_one_by_one(ripple, tmp_path):
    prompt, loaded = "{context} {options} {question}", tiny("gptj")
    given = {"answer_scoring": ["letter"], "answer_tokens": 5, "answer_prompts_letter": prompt, "batch": 4}
    for row in ask(loaded, ripple, tmp_path, "context", **given).answers:
        question = of_id(ripple)[row["question"]]
        text = filled(prompt, question, question.context)
        ids = torch.tensor([align(loaded.tokenizer, text).ids])
        said = loaded.model.generate(ids, max_new_tokens=5, do_sample=False)[0, ids.shape[1] :]
        assert row["output"] == loaded.tokenizer.decode(said, skip_special_tokens=True)
        assert row["parsed"] == chosen(row["output"], question.targets)
        assert row["correct"] == (row["parsed"] == question.answer)


def session_that_writes(monkeypatch: pytest.MonkeyPatch, text: str, **keys: Any) -> tuple[Session, list[str]]:
    """A session whose model writes this text, and the prompts that it is given."""
    loaded, seen = tiny_model("llama", dtype=torch.float32, positions=192), list[str]()
    said: list[int] = loaded.tokenizer(text, add_special_tokens=False).input_ids

    def writes(self: Session, rows: Sequence[Generation], changes: Any = None) -> list[list[int]]:
        seen.extend(loaded.tokenizer.decode(row.ids) for row in rows)
        return [said] * len(rows)

    monkeypatch.setattr(Session, "written", writes)
    return Session(loaded, settings_with(**keys)), seen


def test_a_chat_template_makes_the_prompt_a_turn(ripple, monkeypatch):
    prompt, question = "{context} {question} {options}", ripple.questions[0]
    keys = {"answer_scoring": ["letter"], "answer_tokens": 1, "answer_prompts_letter": prompt}
    template = "{% for turn in messages %}<{{ turn.role }}>{{ turn.content }}{% endfor %}"
    template += "{{ strftime_now('%d %b %Y') }}{% if add_generation_prompt %}<me><think>{% endif %}"
    plain = filled(prompt, question)
    for how, read in (
        ({}, f"<user>{plain}26 Jul 2024<me><think></think>"),
        ({"answer_chat_template": "none"}, plain),
    ):
        session, seen = session_that_writes(monkeypatch, "", **keys, **how)
        monkeypatch.setattr(session.loaded.tokenizer, "chat_template", template)
        list(options.letters(session, [PlannedQuestion(question)], {}))
        assert seen == [read]


def test_marks_of_reasoning_that_are_special_tokens_are_read(monkeypatch):
    session, _ = session_that_writes(monkeypatch, "")
    tokenizer = copy.deepcopy(session.loaded.tokenizer)
    tokenizer.add_special_tokens({"additional_special_tokens": ["[THINK]", "[/THINK]", "<pad>"]})
    object.__setattr__(session.loaded, "tokenizer", tokenizer)
    ids = tokenizer("[THINK]Is it A?[/THINK]B<pad>", add_special_tokens=False)["input_ids"]
    assert session.text(ids) == "[THINK]Is it A?[/THINK]B"
    assert chosen(session.text(ids), ("Ann", "Bob")) == 1
    assert chosen(session.text(ids[:-3]), ("Ann", "Bob")) is None


def test_each_item_is_asked_under_its_own_edit_or_when_all_of_a_group_are_made(ripple, tmp_path):
    loaded = tiny()
    # Batches of four are of several edits.
    found = ask(loaded, ripple, tmp_path, SHIFTED, answer_scoring=["loglik"], batch=4).answers
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
    settings = {"regime": "sequential", "group": 3, "answer_scoring": ["loglik"]}
    rows = ask(loaded, ripple, tmp_path / "sequence", SHIFTED, **settings).answers
    row = next(row for row in rows if row["edit"] == "Q1-P6")
    question = of_id(ripple)[row["question"]]
    with written(loaded.model, made.deltas, 0), written(loaded.model, made.deltas, 2):
        plain = [chance(loaded, cloze_of(question.words), option) for option in question.targets]
    assert row["logprobs"] == pytest.approx(plain, abs=1e-6)


def test_an_edit_states_what_the_context_states(tmp_path):
    chosen, facts = write_tables(tmp_path)
    edits = edits_of(read_items(chosen), facts)
    assert [edit.id for edit in edits] == ["Q1-P6", "Q2-P6", "Q3-P6"]
    stated = "The most recent head of government of Atlantis is", "Atlantis", "Joe Biden"
    assert (edits[0].prompt, edits[0].subject, edits[0].target) == stated
    others = [{**item, "context": item["context"].replace("Joe", "Jo")} for item in items()]
    with pytest.raises(InputError, match="not what its context says"):
        edits_of(others, facts)
    with pytest.raises(InputError, match="no new fact of Q9-P6"):
        edits_of([{**items()[0], "s": "Q9"}], facts)


@pytest.mark.parametrize("way", ["letter", "loglik"])
def test_a_prompt_that_just_fits_is_asked(way, ripple):
    settings, loaded = settings_with(answer_tokens=3), tiny()
    is_letter, question = way == "letter", ripple.questions[0]
    prompt = filled(settings.answer_prompts_letter if is_letter else settings.answer_prompts_loglik, question)
    ends = [""] if is_letter else question.targets
    longest = max(len(align(loaded.tokenizer, prompt, end).ids) for end in ends)
    longest += settings.answer_tokens * is_letter
    for positions, reason in ((longest, None), (longest - 1, "too_long")):
        spec = dataclasses.replace(loaded.spec, positions=positions)
        session = Session(dataclasses.replace(loaded, spec=spec), settings)
        (row,) = (options.letters if is_letter else options.likelihoods)(
            session, [PlannedQuestion(question)], {}
        )
        assert row.get("reason") == reason
        assert ("correct" in row) == (reason is None)


ADA = {"prompt": "The spouse of Ada is", "words": "Who is the spouse of Ada?", "relation": "P26"}
QUESTION = Question("q", **ADA, accepted=("Joe",), stale=("Marta",), ways=("written",))


def test_an_answer_ends_with_its_line_and_is_judged(monkeypatch):
    for text, *expected in (
        (" Joe", " Joe", "length", "correct"),
        (" Joe\nMarta", " Joe", "line", "correct"),
        (" Joe, no, Marta", " Joe, no, Marta", "length", "stale"),
        ("", "", "length", "empty"),
    ):
        session, _ = session_that_writes(monkeypatch, text)
        # The verdict counts also where there are options, whose letter is asked for in another way.
        with_options = dataclasses.replace(QUESTION, targets=("Marta", "Joe"), answer=1)
        for row in in_writing.ask(session, [PlannedQuestion(QUESTION), PlannedQuestion(with_options)], {}):
            assert [row[name] for name in ("output", "stop", "verdict")] == expected
            assert row["correct"] == (row["verdict"] == "correct")


def test_fluency_by_hand():
    # bigrams ab ba ab: 2/3, 1/3; trigrams aba bab: one half each.
    h2 = -(2 / 3 * math.log2(2 / 3) + 1 / 3 * math.log2(1 / 3))
    assert in_writing.fluency("a b a b") == pytest.approx(2 / 3 * h2 + 4 / 3 * 1)
    # Punctuation marks are words.
    assert in_writing.fluency("a' a'") == in_writing.fluency("a b a b")
    assert in_writing.fluency("a a a a a a") == 0


@given(st.lists(st.sampled_from("abc"), max_size=30), st.integers(1, 4))
def test_the_entropy_is_that_of_the_shares(tokens, n):
    counts = Counter(zip(*(tokens[start:] for start in range(n)), strict=False))
    shares = [count / counts.total() for count in counts.values()]
    wanted = -sum(share * math.log2(share) for share in shares)
    assert in_writing.entropy(tokens, n) == pytest.approx(wanted)
    assert (in_writing.entropy(tokens, n) == 0) == (len(counts) < 2)


def test_a_model_reads_the_cloze_or_the_question(monkeypatch):
    read = []
    for shots in (False, True):
        session, seen = session_that_writes(monkeypatch, " Joe", written_shots=shots)
        list(in_writing.ask(session, [PlannedQuestion(QUESTION)], {}))
        read += seen
    assert read[0].strip() == "The spouse of Ada is"
    assert read[1].count("Question:") == 4
    assert read[1].endswith("Question: Who is the spouse of Ada?\nAnswer:")
    # Examples are of other relations.
    assert "Don Quixote" in read[1]
    assert "Don Quixote" not in shots_before(Question("q", relation="P50"))
    # A chat model, whose turn has several lines.
    session, seen = session_that_writes(monkeypatch, " Joe\n\nMarta", written_instruction="Be brief.")
    template = "<{{ messages[0].content }}>"
    monkeypatch.setattr(session.loaded.tokenizer, "chat_template", template)
    (row,) = in_writing.ask(session, [PlannedQuestion(QUESTION)], {})
    assert (seen, row["stop"]) == (["<Who is the spouse of Ada? Be brief.>"], "length")


def test_who_held_before_is_stale(tmp_path):
    rows = items()
    rows[2]["answer_aliases"] = ["Zoë", rows[0]["answer_label"]]
    path = tmp_path / "items.parquet"
    write_rows(rows, TR_ITEMS, path)
    asked = {each.id: each for each in read_tempripple(Tables([path], limit=1, seed=3)).questions}
    whole = {each.id: each for each in read_tempripple(Tables([path])).questions}
    assert {name: whole[name] for name in asked} == asked
    assert len(asked) < len(whole)
    new, old = whole["i00"], whole["i10"]
    assert (new.role, old.role) == ("1 0", "2 0")
    assert new.stale == (old.accepted[0], "Zoë")
    assert all(each.stale == () for each in whole.values() if each.role != "1 0")


@pytest.mark.parametrize("targets", [("Joe", "New Orleans"), ()])
def test_a_long_continuation_has_room_for_the_longest_object_of_its_edit(targets, monkeypatch):
    """Of its targets, or of what is right where it has none; three tokens more, if `length` leaves fewer."""
    session, begun = Session(tiny(), settings_with(length=8)), list[Generation]()

    def writes(self: Session, rows: Sequence[Generation], changes: Any = None) -> list[list[int]]:
        begun.extend(rows)
        return [[5]] * len(rows)

    monkeypatch.setattr(Session, "written", writes)
    prompt, accepted = (
        "The spouse of Ada, who lives in the capital, is",
        ("Joe", "Marta Kowalska and Joe Biden"),
    )
    one = Question("q1", "e", prompt=prompt, targets=targets, accepted=accepted, ways=("written",), long=True)
    other = dataclasses.replace(one, id="q2", edit="f", targets=accepted, long=False)
    rows = list(in_writing.ask(session, [PlannedQuestion(one), PlannedQuestion(other)], {}))
    assert ["entropy" in row for row in rows] == [True, False]
    *_, long = begun
    assert len(begun) == 3
    sizes = [len(session.sentence(prompt, name).ids) - len(long.ids) for name in targets or accepted]
    assert (long.most, long.stops) == (max(sizes) + 3, ())
