"""Asking an untrained model: against transformers one by one, resumed, edited, and what cannot be asked."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

torch = pytest.importorskip("torch", reason="language models are installed with `make models`")
from factdrift.evaluation.answer_jobs import Run  # noqa: E402
from factdrift.evaluation.answer_settings import Settings  # noqa: E402
from factdrift.evaluation.questions.statements import edits_of  # noqa: E402
from factdrift.evaluation.ways.local import Asked, answers  # noqa: E402
from support.questions import items, settings_with, write_tables  # noqa: E402
from support.tiny_edits import add_method  # noqa: E402
from support.tiny_models import tiny_model  # noqa: E402

from factdrift.core.errors import InputError  # noqa: E402
from factdrift.evaluation import answer_run as run  # noqa: E402
from factdrift.evaluation.methods.hyperparameters import Hyper  # noqa: E402
from factdrift.evaluation.methods.interface import Artefacts, Edit, Edited, Prepared  # noqa: E402
from factdrift.evaluation.questions.items import read_items  # noqa: E402
from factdrift.evaluation.session import Job  # noqa: E402
from factdrift.evaluation.ways.prompts import cloze_of, filled, parsed  # noqa: E402
from factdrift.models.alignment import align  # noqa: E402
from factdrift.models.deltas import LowRank, written  # noqa: E402
from factdrift.models.loaded import Loaded  # noqa: E402

HYPER = Hyper("shifted", "tiny", "here", {})
FAILING = "Q2-P6"


def job_of(settings: Settings, family: str = "llama") -> Job:
    return Job(tiny_model(family, positions=192), {}, settings)


def shifted(loaded: Loaded, given: Sequence[Edit], hyper: Hyper, artefacts: Artefacts) -> Edited:
    """A method that changes one matrix by random numbers that depend on the edit; one edit fails."""
    spec = loaded.spec
    read, write = [], []
    for edit in given:
        make = torch.Generator().manual_seed(int(edit.id[1]))
        scale = 0 if edit.id == FAILING else 1
        read.append(scale * torch.randn(spec.inner, 1, generator=make, dtype=loaded.dtype))
        write.append(torch.randn(spec.hidden, 1, generator=make, dtype=loaded.dtype))
    failed = {place: "it would not" for place, edit in enumerate(given) if edit.id == FAILING}
    deltas: Any = {spec.module(1, spec.down): LowRank(torch.stack(read), torch.stack(write))}
    return Edited(deltas, failed=failed)


@pytest.fixture(autouse=True)
def _methods(monkeypatch: pytest.MonkeyPatch) -> None:
    add_method(monkeypatch, "shifted", shifted)


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return write_tables(tmp_path_factory.mktemp("tables"))


def plainly(loaded: Loaded, prompt: str, option: str, total: bool) -> float:
    one = align(loaded.tokenizer, prompt, option)
    logits = loaded.model(torch.tensor([one.ids])).logits[0].log_softmax(-1)
    target = torch.tensor(one.ids[one.target :])
    own = logits[one.target - 1 : -1].gather(1, target[:, None])
    return float(own.sum() if total else own.mean())


def asked_of(rows: Sequence[dict[str, Any]]) -> list[Asked]:
    chosen = [row for row in rows if not row["open_only"]]
    return [
        Asked(row, name, row["context"] * place)
        for place, name in enumerate(run.CONDITIONS)
        for row in chosen
    ]


@pytest.mark.parametrize("normalise", ["mean", "sum"])
@pytest.mark.parametrize("family", ["llama", "gptj"])
def test_likelihoods_are_those_of_transformers_one_by_one(family: str, normalise: str) -> None:
    settings = settings_with(answer_scoring=["loglik"], answer_normalise=normalise)
    job, asked = job_of(settings, family), asked_of(items())
    for row, one in zip(answers(job, settings, asked), asked, strict=True):
        prompt = f"{one.context} {cloze_of(one.item['question'])}".strip()
        plain = [plainly(job.loaded, prompt, option, normalise == "sum") for option in one.item["options"]]
        assert row["logprobs"] == pytest.approx(plain, abs=1e-5)
        assert row["parsed"] == plain.index(max(plain))
        assert row["correct"] == (row["parsed"] == one.item["answer_index"])


def test_letters_are_what_transformers_writes_one_by_one() -> None:
    prompt = "{context} {options} {question}"
    settings = settings_with(answer_scoring=["letter"], answer_tokens=5, answer_prompts_letter=prompt)
    job, asked = job_of(settings, "gptj"), asked_of(items())
    loaded = job.loaded
    for row, one in zip(answers(job, settings, asked), asked, strict=True):
        ids = torch.tensor([align(loaded.tokenizer, filled(prompt, one.item, one.context)).ids])
        said = loaded.model.generate(ids, max_new_tokens=5, do_sample=False)[0, ids.shape[1] :]
        assert row["output"] == loaded.tokenizer.decode(said, skip_special_tokens=True)
        assert row["parsed"] == parsed(row["output"], one.item["options"])


def test_a_chat_template_makes_the_prompt_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    prompt = "{context} {question} {options}"
    settings = settings_with(answer_scoring=["letter"], answer_tokens=1, answer_prompts_letter=prompt)
    job, asked = job_of(settings), asked_of(items())[:1]
    seen: list[str] = []

    def continued(prompts: Sequence[Sequence[int]], *_: Any) -> list[list[int]]:
        seen.extend(job.loaded.tokenizer.decode(ids) for ids in prompts)
        return [[] for _ in prompts]

    monkeypatch.setattr(job, "continued", continued)
    template = "{% for turn in messages %}<{{ turn.role }}>{{ turn.content }}{% endfor %}"
    template += "{% if add_generation_prompt %}<me>{% endif %}"
    monkeypatch.setattr(job.loaded.tokenizer, "chat_template", template)
    answers(job, settings, asked)
    plain = filled(prompt, asked[0].item)
    assert seen == [f"<user>{plain}<me>"]
    off = settings_with(answer_scoring=["letter"], answer_prompts_letter=prompt, answer_chat_template="none")
    answers(job, off, asked)
    assert seen[1:] == [plain]


def command(settings: Settings, folder: Path) -> Run:
    """A command that keeps its batches in a folder and writes `predictions.parquet` there."""
    return Run(
        items_=folder / "items.parquet",
        limit=0,
        seed=0,
        model="tiny",
        trust_remote_code=False,
        settings=settings,
        parts=folder / "parts",
        out_run=folder / "run.json",
        output=folder / "predictions.parquet",
    )


def plain_run(tables: tuple[Path, Path], folder: Path, **keys: Any) -> tuple[dict[str, Any], Path]:
    settings = settings_with(**keys)
    asking = command(settings, folder)
    return run.ask_plain(asking, job_of(settings), read_items(tables[0])), asking.output


def test_every_item_with_options_is_answered_in_both_conditions(
    tables: tuple[Path, Path], tmp_path: Path
) -> None:
    about, output = plain_run(tables, tmp_path, answer_tokens=2)
    rows = pq.read_table(output).to_pylist()
    wanted = sorted(item["item_id"] for item in items() if not item["open_only"])
    assert len(wanted) == 10
    for way in ("letter", "loglik"):
        for condition in run.CONDITIONS:
            mine = [row for row in rows if (row["scoring"], row["condition"]) == (way, condition)]
            assert [row["item_id"] for row in mine] == wanted
    assert {row["run_id"] for row in rows} == {about["run_id"]}
    assert {row["model"] for row in rows} == {"tiny-llama"}
    assert about["answer_prompts_loglik"] == "{context} {cloze}"
    assert not (tmp_path / "parts").exists()


def test_batches_change_nothing(tables: tuple[Path, Path], tmp_path: Path) -> None:
    found = []
    for place, keys in enumerate(({"batch": 1, "budget": 1}, {"batch": 64, "budget": 8192})):
        (tmp_path / str(place)).mkdir()
        _, output = plain_run(tables, tmp_path / str(place), answer_tokens=3, **keys)
        found.append(pq.read_table(output).to_pylist())
    for one, other in zip(*found, strict=True):
        logprobs = one.pop("logprobs"), other.pop("logprobs")
        assert logprobs[0] == (pytest.approx(logprobs[1], abs=1e-9) if logprobs[1] else None)
        assert {**one, "run_id": ""} == {**other, "run_id": ""}


def test_a_killed_job_continues_and_writes_the_same_bytes(
    tables: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "whole").mkdir()
    _, whole = plain_run(tables, tmp_path / "whole", batch=1)
    calls, real = [0], run.answers

    def dying(*arguments: Any) -> Any:
        calls[0] += 1
        if calls[0] == 2:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(run, "answers", dying)
    with pytest.raises(KeyboardInterrupt):
        plain_run(tables, tmp_path, batch=1)
    _, output = plain_run(tables, tmp_path, batch=1)
    assert output.read_bytes() == whole.read_bytes()
    assert calls[0] == 2 + 2  # three chunks, of which the first was finished


@pytest.mark.parametrize("batch", [1, 64])
def test_each_item_is_asked_under_its_own_edit(tables: tuple[Path, Path], tmp_path: Path, batch: int) -> None:
    settings = settings_with(answer_scoring=["loglik"], batch=batch)
    job, chosen = job_of(settings), read_items(tables[0])
    edits, asking = edits_of(chosen, tables[1]), command(settings, tmp_path)
    about = run.ask_edited(asking, job, chosen, edits, Prepared(HYPER))
    assert about["method"] == "shifted"
    rows = {row["item_id"]: row for row in pq.read_table(asking.output).to_pylist()}
    assert len(rows) == len(chosen)
    made = shifted(job.loaded, list(edits.values()), HYPER, Artefacts())
    for place, (timeline, edit) in enumerate(edits.items()):
        for item in (each for each in chosen if (each["s"], each["p"]) == timeline):
            row = rows[item["item_id"]]
            assert row["condition"] == "edited-shifted"
            if edit.id == FAILING:
                assert (row["reason"], row["correct"], row["parsed"]) == ("edit_failed", None, None)
                continue
            with written(job.loaded.model, made.deltas, place):
                plain = [
                    plainly(job.loaded, cloze_of(item["question"]), option, False)
                    for option in item["options"]
                ]
            assert row["logprobs"] == pytest.approx(plain, abs=1e-6)


def test_edits_in_sequence_are_asked_when_all_of_a_group_are_made(
    tables: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("factdrift.evaluation.states.edited.check_layers", lambda *_: None)
    settings = settings_with(answer_scoring=["loglik"], regime="sequential", group=3)
    job, chosen = job_of(settings), read_items(tables[0])
    edits, asking = edits_of(chosen, tables[1]), command(settings, tmp_path)
    run.ask_edited(asking, job, chosen, edits, Prepared(HYPER))
    rows = {row["item_id"]: row for row in pq.read_table(asking.output).to_pylist()}
    made = shifted(job.loaded, [edits["Q1", "P6"], edits["Q3", "P6"]], HYPER, Artefacts())
    item = next(each for each in chosen if each["s"] == "Q1")
    with written(job.loaded.model, made.deltas, 0), written(job.loaded.model, made.deltas, 1):
        plain = plainly(job.loaded, cloze_of(item["question"]), item["options"][0], False)
    assert rows[item["item_id"]]["logprobs"][0] == pytest.approx(plain, abs=1e-6)


def test_an_edit_states_what_the_context_states(tables: tuple[Path, Path], tmp_path: Path) -> None:
    edits = edits_of(read_items(tables[0]), tables[1])
    assert list(edits) == [("Q1", "P6"), ("Q2", "P6"), ("Q3", "P6")]
    first = edits["Q1", "P6"]
    assert (first.prompt, first.subject, first.target) == (
        "The most recent head of government of Atlantis is",
        "Atlantis",
        "Joe Biden",
    )
    others = [{**item, "context": item["context"].replace("Joe", "Jo")} for item in items()]
    with pytest.raises(InputError, match="not what its context says"):
        edits_of(others, tables[1])
    with pytest.raises(InputError, match="no new fact of Q9-P6"):
        edits_of([{**items()[0], "s": "Q9"}], tables[1])


def test_items_that_a_model_cannot_be_asked_have_a_reason() -> None:
    settings = settings_with(answer_tokens=120)
    job = job_of(settings, "gpt2")
    item = next(each for each in items() if not each["open_only"])
    rows = answers(job, settings, [Asked(item, "with", item["context"] * 9)])
    assert [(row["scoring"], row["reason"]) for row in rows] == [
        ("letter", "too_long"),
        ("loglik", "too_long"),
    ]
    assert all("correct" not in row for row in rows)


@pytest.mark.parametrize("way", ["letter", "loglik"])
def test_a_prompt_that_just_fits_is_asked(way: str) -> None:
    """What is longer by one token than the model has positions is too long."""
    settings = settings_with(answer_scoring=[way], answer_tokens=3)
    job, asked = job_of(settings), asked_of(items())[:1]
    is_letter, item = way == "letter", asked[0].item
    prompt = filled(settings.answer_prompts_letter if is_letter else settings.answer_prompts_loglik, item)
    ends = [""] if is_letter else item["options"]
    longest = max(len(align(job.loaded.tokenizer, prompt, end).ids) for end in ends)
    longest += settings.answer_tokens * is_letter
    for positions, reason in ((longest, None), (longest - 1, "too_long")):
        spec = dataclasses.replace(job.loaded.spec, positions=positions)
        limited = dataclasses.replace(job, loaded=dataclasses.replace(job.loaded, spec=spec))
        (row,) = answers(limited, settings, asked)
        assert row.get("reason") == reason
