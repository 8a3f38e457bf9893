"""Locators: their records; jobs in shards, checkpoints, folders of scores; and the user's own function."""

import json
import re
from copy import deepcopy
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from support.asking import chance, command, scoring, settings_with
from support.commands import refusal
from support.tiny_edits import EDITS, SETTINGS
from support.tiny_models import TEXT, tiny_model
from support.workflow import ROOT

from factdrift.cli import main
from factdrift.core.errors import InputError
from factdrift.core.keys import read_settings
from factdrift.core.owned import LIST
from factdrift.core.paths import LOCATORS
from factdrift.core.settings import configure
from factdrift.evaluation.locators.plan import Plan, PlannedLocator, Settings, entry, records
from factdrift.evaluation.locators.run import Locating, aligned, answer_columns, write_located
from factdrift.evaluation.locators.sentences import (
    LOCATED,
    REMOVED,
    SENTENCES,
    read_sentences,
    write_examples,
)
from factdrift.evaluation.locators.table import SCORES, compare, gather, grouped, skipped, without_effect
from factdrift.evaluation.methods.hyperparameters import at_block, default_values, hyper_at, read_hyper
from factdrift.evaluation.methods.interface import Artefacts, Prepared
from factdrift.evaluation.methods.own import keys_of_methods
from factdrift.evaluation.methods.shared import method_of
from factdrift.evaluation.questions.question import Benchmark, Question
from factdrift.evaluation.run import Files, Run, evaluate
from factdrift.evaluation.session import Session
from factdrift.evaluation.states.edited import Condition
from factdrift.klob.scoring.evaluate import Choices
from factdrift.klob.scoring.inputs import read_examples, read_scores
from factdrift.klob.scoring.report import draw_rsd, draw_rsim, lines
from factdrift.models.deltas import applied
from factdrift.models.hooks import hooked
from factdrift.models.loaded import Loaded
from factdrift.models.moments import count_moments

OWN = '''
import torch

def locate(model, sentences, targets):
    """The norm of each token's embedding in the sentence, for no good reason: a score for each block."""
    embed = model.model.get_submodule(model.spec.embedding)
    rows = [embed(torch.tensor(one.ids)).norm(dim=1) for one in sentences]
    scores = torch.stack([torch.stack([row.sum(), row.max(), row.min()]) for row in rows])
    return {"granularity": "layer", "scores": scores}

def listed(model, sentences, targets):
    full = locate(model, sentences, targets)["scores"].numpy()
    return {
        "granularity": "layer", "units": 3, "top": (-full).argsort(1, kind="stable"),
        "mean": full.mean(1), "sd": full.std(1),
    }
'''
FILES = {"scores.json", "sentences.txt", "units.npy", "mean.npy", "sd.npy", "known.parquet"}
"""What the rule says it makes."""
CHANGES: dict[str, dict[str, Any]] = {"causal_tracing": {"samples": 2}, "rome_layer": {"layer": 1}}


def settings(**given: Any) -> Settings:
    keys = {"edit_device": "cpu", "k": [1, 20], "seed": 1} | given
    return read_settings(json.dumps(keys), Settings, "locate")


@pytest.fixture(scope="module")
def loaded() -> Loaded:
    return tiny_model("llama")


@pytest.fixture(scope="module")
def sentences(klob, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("sentences")
    write_examples(klob, 3, 0, folder, folder / "sentences.parquet")
    return folder / "sentences.parquet"


def made(loaded: Loaded, sentences: Path, folder: Path, name: str, shards: int = 1, **given: Any) -> Path:
    """A folder of scores from jobs in `shards`."""
    job = Locating(loaded, entry(name), CHANGES.get(name, {}), settings(**given))
    tables, about = ([folder / f"{place}.{form}" for place in range(shards)] for form in ("parquet", "json"))
    for place, files in enumerate(zip(tables, about, strict=True)):
        parts = folder / f"{place}"
        write_located(job, read_sentences(sentences), (place, shards), parts, *files)
        assert not parts.exists()
    gather(sentences, tables, about, folder / "scores")
    return folder / "scores"


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.name != LIST}


def test_every_locator_gives_a_folder_that_the_scorer_takes(loaded, sentences, tmp_path):
    """And one table of all, compared in groups, with the reference locators of each."""
    names = ["causal_tracing", "attribution_patching_heads", "gradient_x_input", "activation"]
    names += ["pmet_cosine", "rome_layer"]
    folders = [made(loaded, sentences, tmp_path / name, name, parameters=2) for name in names]
    assert [(*units[2:], len(methods)) for units, methods in grouped(folders).items()] == [
        ("neuron", 168, 2), ("head", 12, 1), ("module", 6, 1), ("layer", 3, 2)
    ]  # fmt: skip
    found, table = compare(
        folders, read_examples(sentences.parent), Choices((Fraction(1), Fraction(20)), scratch=tmp_path)
    )
    assert table.schema == SCORES
    frame = table.to_pandas()
    references = {"random", "oracle", "constant", "mostly_constant", "lexical"}
    assert set(frame[frame["kind"] == "reference"]["locator"]) == references
    main = frame.query("measure == 'rsim' and population == 'all' and relation.isna()")
    assert set(main["locator"]) == {*names, *references}
    oracle = main.query("locator == 'oracle' and granularity == 'neuron' and subtask == 'c'")
    assert oracle["value"].tolist() == [1, 1]
    known = frame.query("measure == 'known' and locator == 'activation'")
    assert known["subtask"].tolist() == ["c", "r"]
    assert json.loads(frame.query("locator == 'causal_tracing'")["hyper"].iloc[0])["samples"] == 2
    effects = frame[frame["measure"].str.startswith("effect")]
    assert set(effects["locator"]) == set(names)
    assert set(frame[frame["parameters"] == 2]["locator"]) == set(names)
    for name in names:
        mine = effects.query("locator == @name and subtask == 'c'").set_index(["measure", "population"])
        rows = pq.read_table(tmp_path / name / "scores/known.parquet").to_pylist()
        sums = {
            column: sum(row[column] for row in rows if row["subtask"] == "c")
            for column in ("probability", *REMOVED)
        }
        assert mine["n"].tolist() == [sum(row["subtask"] == "c" for row in rows)] * 4
        assert mine["value"].to_dict() == pytest.approx(
            {
                ("effect_above_permuted", "all"): (sums["permuted"] - sums["named"]) / sums["random"],
                ("effect", "all"): 1 - sums["named"] / sums["random"],
                ("effect", "permuted"): 1 - sums["permuted"] / sums["random"],
                ("effect", "random"): 1 - sums["random"] / sums["probability"],
            }
        )
    assert mine["value"]["effect_above_permuted", "all"] == 0
    controls = frame.query("measure == 'rsim' and population == 'permuted' and subtask == 'c' and k == 1")
    high = set(controls[controls["value"] > 0.1]["locator"]) & set(names)
    for subtask in "cru":
        text = "\n".join(lines(found, subtask, 1.0))
        assert all(name in text for name in names)
        if subtask == "c":
            assert text.count("  effect above permuted  ") == 4
            said = [line for line in text.splitlines() if line.startswith("RSim of permuted sentences")]
            assert {name for line in said for name in line.partition(": ")[2].split(", ")} == high
        path = tmp_path / f"{subtask}.svg"
        draw_rsd(found, path) if subtask == "u" else draw_rsim(found, subtask, path)
        assert "tiny-llama, 168 neurons" in (tmp_path / f"{subtask}.svg").read_text(encoding="utf-8")


def test_shards_checkpoints_and_a_kill_change_no_byte(loaded, sentences, tmp_path, monkeypatch):
    name = "knowledge_neurons_refined"
    whole = made(loaded, sentences, tmp_path / "whole", name, budget=100)
    assert set(bytes_of(whole)) == FILES
    parts = made(loaded, sentences, tmp_path / "parts", name, shards=3, budget=100, batch=1)
    assert bytes_of(parts) == bytes_of(whole)
    calls = []
    located = Locating.locate

    def dying(*given: Any) -> Any:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return located(*given)

    job = Locating(loaded, entry(name), {}, settings(budget=100, batch=1))
    rows = read_sentences(sentences)
    given = (rows, (0, 1), tmp_path / "killed", tmp_path / "0.parquet", tmp_path / "0.json")
    monkeypatch.setattr(Locating, "locate", dying)
    with pytest.raises(KeyboardInterrupt):
        write_located(job, *given)
    assert not (tmp_path / "0.parquet").exists()
    write_located(job, *given)
    number = len(json.loads((tmp_path / "0.json").read_text(encoding="utf-8"))["batches"])
    assert len(calls) == number + 1
    gather(sentences, [tmp_path / "0.parquet"], [tmp_path / "0.json"], tmp_path / "scores")
    assert bytes_of(tmp_path / "scores") == bytes_of(whole)


def test_unaligned_sentences_are_excluded_with_a_reason(loaded, sentences, tmp_path):
    rows = read_sentences(sentences)
    rows[0] = rows[0] | {"text": "word " * 120, "start": None, "end": None}
    pq.write_table(pa.Table.from_pylist(rows, schema=SENTENCES), tmp_path / "s.parquet")
    folder = made(loaded, tmp_path / "s.parquet", tmp_path, "activation")
    table = pq.read_table(tmp_path / "0.parquet")
    assert table.schema.equals(LOCATED)
    (lost,) = [row for row in table.to_pylist() if row["reason"]]
    assert (lost["sentence"], lost["reason"]) == (rows[0]["sentence"], "too_long")
    scores = read_scores(folder)
    assert np.isnan(scores.mean).tolist() == [row["sentence"] == lost["sentence"] for row in rows]


@pytest.mark.parametrize("name", ["causal_tracing", "knowledge_neurons_refined", "pmet_jaccard"])
def test_sentences_without_probability_have_no_scores(loaded, sentences, name):
    broken = replace(loaded, model=deepcopy(loaded.model))
    batch, _ = aligned(broken, read_sentences(sentences))
    (some, *_) = {*batch[0].ids} - {*batch[-1].ids}
    with torch.no_grad():
        broken.model.get_submodule(broken.spec.embedding).weight[some] = torch.inf
    found = Locating(broken, entry(name), CHANGES.get(name, {}), settings()).locate(batch)
    lost = [chance is None for chance in found["probability"].to_pylist()]
    assert 0 < sum(lost) < len(lost)
    assert np.isnan(found["mean"].to_numpy()).tolist() == lost


def test_own_functions(loaded, sentences, tmp_path):
    own = tmp_path / "mine.py"
    own.write_text(OWN, encoding="utf-8")
    found = [made(loaded, sentences, tmp_path / name, f"{own}:{name}") for name in ("locate", "listed")]
    first, second = map(read_scores, found)
    assert (first.name, first.granularity, first.units) == ("mine.locate", "layer", 3)
    assert np.array_equal(first.top, second.top)
    assert first.mean == pytest.approx(second.mean, rel=1e-6)
    known = pq.read_table(found[0] / "known.parquet").to_pylist()
    assert len(known[0]["layers"]) == 3
    assert pq.read_table(found[1] / "known.parquet")["layers"].null_count == len(known)
    with pytest.raises(InputError, match=r"--set: .*mine\.py:locate is a function of your own, without"):
        Locating(loaded, entry(f"{own}:locate"), {"steps": 3}, settings())
    with pytest.raises(InputError, match="no function none"):
        made(loaded, sentences, tmp_path / "none", f"{own}:none")


@pytest.mark.filterwarnings("ignore:second moments")
def test_edits_at_every_block_that_the_method_can_edit(tmp_path, capsys):
    loaded = tiny_model("qwen3_moe", mlp_only_layers=[0, 1])
    artefacts = Artefacts(prefixes=("",), moments=count_moments(loaded, [0, 1], TEXT, ridge=1e-3))
    hypers = [hyper_at("rome", "tiny", SETTINGS["rome"], layer) for layer in range(3)]
    conditions = [
        Condition(Prepared(hyper, artefacts), "independent", at_block("rome", layer))
        for layer, hyper in enumerate(hypers)
    ]
    questions = [
        Question(each.id, each.id, "update", prompt=each.prompt, targets=(each.target,)) for each in EDITS[:2]
    ]
    files, session = Files.under(tmp_path, "run"), Session(loaded, settings_with(batch=1))
    evaluate(Run.of(session, Benchmark("updates", questions, EDITS[:2]), conditions, 0), files)
    assert not files.parts.exists()
    assert len(pq.read_table(files.edits)) == 4
    rows = pq.read_table(files.answers).to_pylist()
    assert [row["method"] for row in rows] == ["rome@0", "rome@0", "rome@1", "rome@1"]
    for row, hyper, edit in zip(rows, [hypers[0]] * 2 + [hypers[1]] * 2, EDITS[:2] * 2, strict=True):
        made = method_of(hyper)(loaded, [edit], hyper, artefacts)
        with applied(loaded.model, made.deltas, 0), torch.no_grad():
            alone = chance(loaded, edit.prompt, edit.target)
        assert row["logprobs"] == pytest.approx([alone], rel=1e-5)
    said = capsys.readouterr().out
    assert said.count("tiny-qwen3_moe: mixture of experts") == 1
    assert said.count("rome@2 on tiny-qwen3_moe: skipped") == 1


LISTED = {"granularity": "layer", "units": 3, "top": [[0], [2]], "mean": [1.0, 1.0], "sd": [0.0, 0.5]}


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (np.zeros((2, 3)), "must return a dict with .*; it returned ndarray"),
        ({"scores": [[1.0]] * 2}, "it returned a dict with scores"),
        ({"granularity": "word", "scores": [[1.0]] * 2}, "granularity: 'word' is none of weight, neuron"),
        ({"granularity": "layer", "scores": [[1.0]]}, r"scores have shape \(1, 1\); 2 sentences x units"),
        ({"granularity": "layer", "scores": [["high"]] * 2}, "scores has the type <U4; numbers are expected"),
        ({"granularity": "layer", "scores": [[1.0], [1.0, 2.0]]}, "scores cannot be read as an array"),
        ({"granularity": "layer", "units": 3}, "top, mean, sd are missing"),
        (LISTED | {"units": True}, "units is True; the number of units is expected"),
        (LISTED | {"units": 3.0}, "units is 3.0; the number of units is expected"),
        (LISTED | {"top": [[0.5], [1.0]]}, "top has the type float64; numbers of units are expected"),
        (LISTED | {"top": [[0]]}, r"top has shape \(1, 1\); 2 sentences x at least 1 units"),
        (LISTED | {"top": [[0], [3]]}, "f: top: row 1: the unit 3 is listed twice or is not one of 0 to 2"),
        (LISTED | {"sd": [0.0]}, r"mean and sd have shapes \(2,\) and \(1,\)"),
    ],
)
def test_what_is_no_result_is_refused(answer, said):
    assert np.array(answer_columns("f", LISTED, 2, 3, Fraction(1))["top"]).tolist() == [[0], [2]]
    with pytest.raises(InputError, match=said):
        answer_columns("f", answer, 2, 3, Fraction(1))


def test_the_batched_locator_of_the_document(loaded, sentences, tmp_path):
    """It scores each sentence as a run of this sentence alone does."""
    text = (ROOT / "docs/locating.md").read_text(encoding="utf-8")
    own = tmp_path / "batched_locator.py"
    own.write_text(text.partition("# batched_locator.py\n")[2].partition("```")[0], encoding="utf-8")
    folder = made(loaded, sentences, tmp_path / "found", f"{own}:locate")
    scores = read_scores(folder)
    assert (scores.granularity, scores.units) == ("layer", 3)
    names = [loaded.spec.module(layer, loaded.spec.mlp) for layer in range(3)]
    for place, row in enumerate(read_sentences(sentences)[:5]):
        norms: list[float] = []
        ids = loaded.tokenizer(row["text"][: row["end"]]).input_ids
        look = lambda taken, given, norms=norms: norms.append(given[0, -1].norm().item())  # noqa: E731
        with torch.no_grad(), hooked(loaded.model, dict.fromkeys(names, look)):
            loaded.model(input_ids=torch.tensor([ids]))
        assert scores.mean[place] == pytest.approx(np.mean(norms), rel=1e-4)


@pytest.mark.parametrize("name", ["activation", "attribution_patching_heads"])
def test_a_folder_of_scores_is_run_by_the_function_of_the_document(loaded, sentences, tmp_path, name):
    """It has the effect of the locator that wrote the folder, dense or listed; a folder alone has none."""
    text = (ROOT / "docs/klob_scores.md").read_text(encoding="utf-8")
    source = text.partition("# of_folder.py\n")[2].partition("```")[0]
    listed = made(loaded, sentences, tmp_path / "listed", name, parameters=2, budget=10**6)
    dense = tmp_path / "dense"
    dense.mkdir()
    about = json.loads((listed / "scores.json").read_text("utf-8"))
    batch, _ = aligned(loaded, read_sentences(sentences))
    job = Locating(loaded, entry(name), {}, settings())
    job.context = replace(job.context, noise_scale=about["subject_spread"])
    scores = job._function(loaded, batch, [one.answer[0] if one.answer else 0 for one in batch], job.context)
    np.save(dense / "scores.npy", scores.float().numpy())
    (dense / "sentences.txt").write_text("\n".join(one.id for one in batch), encoding="utf-8")
    keys = ("name", "model", "revision", "granularity", "units")
    (dense / "scores.json").write_text(json.dumps({key: about[key] for key in keys}), encoding="utf-8")
    first = pq.read_table(listed / "known.parquet")
    for folder in (listed, dense):
        own = tmp_path / f"of_{folder.name}.py"
        own.write_text(source.replace('Path("my_method")', f"Path({str(folder)!r})"), encoding="utf-8")
        again = made(loaded, sentences, tmp_path / own.stem, f"{own}:locate", parameters=2, budget=10**6)
        known = pq.read_table(again / "known.parquet")
        for column in REMOVED:
            wanted, found = (table[column].to_pylist() for table in (first, known))
            asked = [subtask in "cr" for subtask in first["subtask"].to_pylist()]
            same = [
                a == pytest.approx(b, rel=1e-9) for a, b, use in zip(found, wanted, asked, strict=True) if use
            ]
            # Scores of KLoB-u are of other targets here, and have no effect.
            assert same == [True] * sum(asked)
    reason = without_effect(dense / "scores.json")
    assert reason is not None
    assert "no effect: no locator was run" in reason
    assert without_effect(listed / "scores.json") is None
    few = made(loaded, sentences, tmp_path / "few", name, parameters=50, budget=10**6)
    assert "no effect: locate.parameters is 50 %" in (without_effect(few / "scores.json") or "")


LEAKS = """
count = []

def weights(model, sentences, targets):
    model.model.get_submodule(model.spec.head).weight.data *= 1.01
    return locate(model, sentences, targets)

def counts(model, sentences, targets):
    count.append(1)
    found = locate(model, sentences, targets)["scores"] * (1 + len(count) / 100)
    return {"granularity": "layer", "scores": found}

def breaks(model, sentences, targets):
    count.append(1)
    found = locate(model, sentences, targets)["scores"]
    return {"granularity": "layer", "scores": found * (float("nan") if len(count) > 1 else 1)}
"""


def test_what_an_own_function_leaves_behind_is_refused(sentences, tmp_path):
    (tmp_path / "mine.py").write_text(OWN + LEAKS, encoding="utf-8")
    for name, said in (
        ("weights", r"mine\.py:weights: it changed lm_head\.weight of tiny-llama"),
        ("counts", "gets other scores when it is located again after others"),
        ("breaks", r"\(mean .*, then nan\)"),
    ):
        with pytest.raises(InputError, match=said):
            made(tiny_model("llama"), sentences, tmp_path / name, f"{tmp_path}/mine.py:{name}")


def test_what_is_no_locator_is_refused(tmp_path):
    assert entry("activation") == PlannedLocator("activation", "activation", record=records()["activation"])
    (tmp_path / "mine.py").write_text("def f(): pass", encoding="utf-8")
    assert entry(f"{tmp_path}/mine.py:f").name == "mine.f"
    (tmp_path / "scores.json").write_text("{}", encoding="utf-8")
    assert not entry(str(tmp_path)).is_run
    for given, said in (
        ("magic", "no such locator; there are activation, "),
        (f"{tmp_path}/none.py:f", "there is no file"),
        (f"{tmp_path}/mine.py:1", "no name of a function"),
    ):
        with pytest.raises(InputError, match=said):
            entry(given)


def test_a_model_that_cannot_be_run_has_a_reason_in_the_place_of_scores(sentences, tmp_path, capsys):
    (tmp_path / "vision").mkdir()
    (tmp_path / "vision/config.json").write_text('{"model_type": "qwen2_5_vl"}', encoding="utf-8")
    given = ["--sentences", str(sentences), "--model", str(tmp_path / "vision"), "--locator", "activation"]
    files = ["--output", str(tmp_path / "0.parquet"), "--out-about", str(tmp_path / "0.json")]
    settings = ["--settings", json.dumps({"edit_device": "cpu"})]
    assert main(["locate", "run", *given, *settings, "--parts", str(tmp_path / "parts"), *files]) == 0
    assert gather(sentences, [tmp_path / "0.parquet"], [tmp_path / "0.json"], tmp_path / "folder") == 0
    reason = skipped(tmp_path / "0.json")
    assert reason == skipped(tmp_path / "folder" / "scores.json")
    assert {path.name for path in (tmp_path / "folder").iterdir()} >= FILES
    strange = tmp_path / "strange"
    strange.mkdir()
    (strange / "mean.npy").write_text("mine")
    with pytest.raises(InputError, match=r"mean\.npy"):
        gather(sentences, [tmp_path / "0.parquet"], [tmp_path / "0.json"], strange)
    assert (strange / "mean.npy").read_text() == "mine"
    assert reason is not None
    assert "activation on" in reason
    assert "is of the type 'qwen2_5_vl', for which" in reason
    # Nor can it be edited at any block, and without another model there is nothing to compare.
    job = command(tmp_path / "vision", tmp_path / "job", "updates", [tmp_path / "none"], "rome", "--blocks")
    assert "rome on " in capsys.readouterr().out
    assert job.rows() == []
    located = tmp_path / "located" / "activation"
    located.mkdir(parents=True)
    for form in ("parquet", "json"):
        (tmp_path / f"0.{form}").rename(located / f"edits.0-of-1.{form}")
    given = ["--models", "v", "--folders", str(located.parent), "--locators", "activation", *scoring([job])]
    given.append(f"--edits={tmp_path / 'none'}")
    out = [f"--out-{name}={tmp_path / name}" for name in ("table", "text", "figures")]
    assert reason in refusal("locate", "against-edits", *given, *out)


def row(name: str) -> str:
    """The line of a locator in the table of docs/locating.md."""
    record, values = records()[name], default_values(name, LOCATORS)
    paper = re.sub(r"arXiv (\d+\.\d+)", r"[arXiv \1](https://arxiv.org/abs/\1)", record.paper)
    token = values.get("token", "").replace("_", " ")
    return f"| `{name}` | {values['granularity']}s | {token} | {record.title} | {paper} |"


def test_the_page_has_all_locators_in_the_order_in_which_they_are_run_by_default():
    config: dict[str, Any] = {"snapshots": {"old": "2021-01-04", "new": "2023-02-27"}}
    configure(config, keys_of_methods)
    assert sorted(config["locators"]) == list(records())
    wanted = "\n".join(map(row, config["locators"]))
    assert wanted in (ROOT / "docs/locating.md").read_text(encoding="utf-8"), wanted


def test_one_that_is_like_another_depends_on_both_files():
    found = entry("causal_tracing_mlp")
    assert [path.stem for path in found.files()] == ["causal_tracing_mlp", "causal_tracing"]
    assert found.modules() == ["factdrift.evaluation.locators.causal_tracing"]
    base = read_hyper("causal_tracing", "gpt2", None, LOCATORS)
    own = {"kind": "mlp", "window": 10}
    assert dict(read_hyper("causal_tracing_mlp", "gpt2", None, LOCATORS)) == {**base, **own}


def test_a_locator_follows_the_layer_of_the_editing_method():
    config = {"locators": ["rome_layer", "activation"], "models": ["sample-llama"], "locate": {"hyper": {}}}
    keys: dict[str, Any] = {
        "rome": {"layer": 3, "steps": 5},
        "memit": {"layers": ["2"]},
        "ft": {"layers": [0, 1]},
    }
    for given, values in (({}, {}), (keys, {"layer": 3})):
        plan = Plan(config | given)
        assert (plan.values("rome_layer"), plan.values("activation")) == (values, {})
    for own, found in (
        ({"layer": 2}, {"layer": 2}),
        ({"method": "memit"}, {"method": "memit", "layer": "2"}),
        ({"method": "ft", "layer": -1}, {"method": "ft", "layer": -1}),
    ):
        changed = config | keys | {"locate": {"hyper": {"rome_layer": own}}}
        assert Plan(changed).values("rome_layer") == found
    with pytest.raises(
        InputError, match=r"rome_layer: it has one block, and ft\.layers names 2; name one with"
    ):
        Plan(config | keys | {"locate": {"hyper": {"rome_layer": {"method": "ft"}}}})
