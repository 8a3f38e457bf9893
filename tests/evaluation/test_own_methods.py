"""Methods of the user's own on a tiny model: the documents' examples, and what may go wrong in place."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

torch = pytest.importorskip("torch", reason="language models are installed with `make models`")
from factdrift.evaluation.questions.probes import read_aligned, read_updates, write_aligned  # noqa: E402
from support.own_methods import install, write_examples  # noqa: E402
from support.tiny_models import tiny_model  # noqa: E402
from support.updates import edits  # noqa: E402

from factdrift.core.errors import InputError  # noqa: E402
from factdrift.core.keys import read_settings  # noqa: E402
from factdrift.evaluation.methods.hyperparameters import read_given  # noqa: E402
from factdrift.evaluation.methods.interface import Artefacts, Prepared  # noqa: E402
from factdrift.evaluation.run import Files, write_run  # noqa: E402
from factdrift.evaluation.session import Job  # noqa: E402
from factdrift.evaluation.settings import Settings  # noqa: E402
from factdrift.models.loaded import Loaded  # noqa: E402
from factdrift.models.snapshot import Snapshot  # noqa: E402

Rows = tuple[list[dict[str, Any]], list[dict[str, Any]]]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with edits, aligned for the tiny tokenizer, and the documents' examples."""
    folder = tmp_path_factory.mktemp("world")
    edits(folder, fluency_sample=0.5)
    tables = [folder / f"{name}.parquet" for name in ("edits", "aligned", "unaligned")]
    write_aligned(tiny_model("llama").tokenizer, "tiny-llama", *tables)
    return write_examples(folder)


def made(
    world: Path,
    out: Path,
    method: str,
    values: dict[str, Any] | None = None,
    *,
    loaded: Loaded | None = None,
    shard: tuple[int, int] = (0, 1),
    **settings: Any,
) -> Rows:
    """The rows of RUN_PROBES and RUN_EDITS; `settings` are those of the part `edit`."""
    chosen = {"batch": 2, "length": 20} | settings
    job = Job(
        loaded or tiny_model("llama", dtype=torch.float64),
        read_aligned(world / "aligned.parquet"),
        read_settings(json.dumps(chosen), Settings, "edit"),
    )
    updates = read_updates(world / "edits.parquet", world / "unaligned.parquet")
    files = (out / "probes.parquet", out / "edits.parquet")
    hyper = read_given(method, "tiny-llama", values)
    write_run(job, updates, Prepared(hyper, Artefacts()), Files(out / "parts", *files), shard)
    probes, rows = (pq.read_table(path).to_pylist() for path in files)
    return probes, rows


def assert_alike(one: Rows, other: Rows, within: float) -> None:
    for mine, theirs in zip(one[0], other[0], strict=True):
        assert (mine["edit"], mine["number"], mine["exact"]) == (
            *(theirs["edit"], theirs["number"], theirs["exact"]),
        )
        assert mine["logprob"] == pytest.approx(theirs["logprob"], abs=within)
    for mine, theirs in zip(one[1], other[1], strict=True):
        assert [mine[key] for key in ("edit", "said", "fluency")] == [
            theirs[key] for key in ("edit", "said", "fluency")
        ]


def code(folder: Path, body: str, more: str = "", name: str = "mine") -> str:
    """A plain method whose body is given."""
    lines = ["import torch", "def edit(model, tokenizer, update):"]
    lines += [f"    {line}" for line in body.splitlines()] + more.splitlines()
    (folder / f"{name}.py").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return f"{folder}/{name}.py:edit"


@pytest.mark.parametrize("regime", ["independent", "sequential"])
def test_plain_fine_tuning_is_ours(world: Path, tmp_path: Path, regime: str) -> None:
    values = {"lr": 0.01, "steps": 6, "stop_loss": 0.01}
    chosen = {"regime": regime, "group": 3}
    ours = made(world, tmp_path / "ours", "ft", {"layers": [1], **values}, **chosen)
    plain = made(world, tmp_path / "plain", f"{world}/mine.py:edit", {"layer": 1, **values}, **chosen)
    assert_alike(plain, ours, 1e-5)  # logits are rounded to float32
    assert {row["method"] for part in plain for row in part} == {"mine"}
    base = made(world, tmp_path / "none", "none")
    moved = [abs(one["logprob"] - other["logprob"]) for one, other in zip(plain[0], base[0], strict=True)]
    assert max(moved) > 0.1


def test_the_batched_example_raises_its_targets(world: Path, tmp_path: Path) -> None:
    base = made(world, tmp_path / "none", "none")
    given = f"{world}/batched.py:edit"
    found = made(world, tmp_path / "batched", given, {"layer": 2, "scale": 30}, regime="sequential", group=1)
    alone = made(world, tmp_path / "alone", given, {"layer": 2, "scale": 30})
    assert_alike(found, alone, 1e-9)
    targets = [row for row in zip(base[0], alone[0], strict=True) if row[0]["number"] == 0]
    assert all(after["logprob"] > before["logprob"] for before, after in targets)


def test_an_entry_point_is_run_as_the_same_file_is(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(install(tmp_path / "site"))
    with pytest.raises(InputError, match=r"own_package.module cannot be imported: ImportError: only jobs"):
        made(world, tmp_path / "fails", "elsewhere", {"lr": 0.01})
    (tmp_path / "site/own_package/__init__.py").write_text("", encoding="utf-8")
    found = made(world, tmp_path / "point", "elsewhere", {"lr": 0.01})
    assert_alike(found, made(world, tmp_path / "file", f"{world}/mine.py:edit", {"lr": 0.01}), 0)
    assert {row["method"] for row in found[1]} == {"elsewhere"}


CHANGE = "model.model.layers[1].mlp.down_proj.weight.data *= 1 + len(update.subject) / 10"
FAILS = "if update.target == 'Joe Biden': raise ValueError('no\\nway')"
HOOK = """
def louder(module, taken, given): return given * (1 + len(update.subject) / 10)
model.model.layers[1].mlp.down_proj.register_forward_hook(louder)"""
MODULE = """
class Louder(torch.nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner
    def forward(self, taken):
        return self.inner(taken) * (1 + len(update.subject) / 10)
model.model.layers[1].mlp.down_proj = Louder(model.model.layers[1].mlp.down_proj)"""
WRAPPER = """
class Wrapper:
    def __call__(self, input_ids, **others):
        module = model.model.layers[1].mlp.down_proj
        start = module.weight.data.clone()
        module.weight.data *= 1 + len(update.subject) / 10
        given = model(input_ids=input_ids, **others)
        module.weight.data.copy_(start)
        return given
return Wrapper()"""


@pytest.mark.parametrize("body", [HOOK, MODULE, WRAPPER])
def test_hooks_modules_and_wrappers_are_probed_like_changed_weights(
    world: Path, tmp_path: Path, body: str
) -> None:
    loaded = tiny_model("llama", dtype=torch.float64)
    weights = made(world, tmp_path / "weights", code(tmp_path, CHANGE), loaded=loaded)
    start = {name: one.clone() for name, one in loaded.model.state_dict().items()}
    modules = list(loaded.model.modules())
    other = made(world, tmp_path / "other", code(tmp_path, body, name="other"), loaded=loaded)
    assert_alike(other, weights, 1e-9)
    assert all(torch.equal(start[name], one) for name, one in loaded.model.state_dict().items())
    assert modules == list(loaded.model.modules())
    assert not any(one._forward_hooks or one._forward_pre_hooks for one in modules)


def test_what_looks_at_the_end_of_a_text_sees_no_padding_and_no_other_row(
    world: Path, tmp_path: Path
) -> None:
    """A hook that uses the last token of the first row: padding or another row there would change results."""
    body = """
def last(module, taken, given): return given + given[:1, -1:]
model.model.layers[1].mlp.down_proj.register_forward_hook(last)"""
    probes, rows = made(world, tmp_path, code(tmp_path, body), batch=5)
    loaded = tiny_model("llama", dtype=torch.float64)
    handle = loaded.model.model.layers[1].mlp.down_proj.register_forward_hook(
        lambda module, taken, given: given + given[:1, -1:]
    )
    sentences = read_aligned(world / "aligned.parquet")
    updates = {each.edit.id: each for each in read_updates(world / "edits.parquet")}
    for row in probes:
        probe = updates[row["edit"]].probes[row["number"]]
        one = sentences[probe["prompt"], probe["target"]]
        logits = loaded.model(torch.tensor([one.ids[:-1]])).logits[0].log_softmax(-1)[one.target - 1 :]
        wanted = logits.gather(1, torch.tensor(one.ids[one.target :])[:, None]).mean()
        assert row["logprob"] == pytest.approx(wanted.item(), abs=1e-6)
    text = torch.tensor([sentences[next(iter(updates.values())).edit.prompt, ""].ids])
    start = text.shape[1]
    for _ in range(4):
        text = torch.cat([text, loaded.model(text).logits[:, -1:].argmax(-1)], 1)
    handle.remove()
    assert rows[0]["said"][0].startswith(loaded.tokenizer.decode(text[0, start:], skip_special_tokens=True))


@pytest.mark.parametrize("regime", ["independent", "sequential"])
def test_an_edit_that_raises_has_failed_and_leaves_nothing_behind(
    world: Path, tmp_path: Path, regime: str, capsys: pytest.CaptureFixture[str]
) -> None:
    loaded = tiny_model("llama", dtype=torch.float64)
    start = {name: one.clone() for name, one in loaded.model.state_dict().items()}
    given = code(tmp_path, f"{CHANGE}\n{HOOK.strip()}\n{FAILS}", name="raises")
    probes, rows = made(world, tmp_path / "raises", given, loaded=loaded, regime=regime, group=5)
    assert all(torch.equal(start[name], one) for name, one in loaded.model.state_dict().items())
    failed = {row["edit"]: row["failed"] for row in rows}
    assert list(failed.values()).count("ValueError: no") == 2
    assert {row["edit"] for row in probes} == {edit for edit, reason in failed.items() if reason is None}
    assert capsys.readouterr().err.count("Traceback") == 1
    skips = code(tmp_path, f"{FAILS}\n{CHANGE}\n{HOOK.strip()}", name="skips")
    other = made(world, tmp_path / "skips", skips, regime=regime, group=5)
    assert_alike((probes, rows), other, 0)


CLASS = """
kind, start = type(model.model.norm), type(model.model.norm).forward
kind.forward = lambda self, taken: start(self, taken) * (1 + len(update.subject) / 100)"""
FUNCTION = """
import sys
module = sys.modules[type(model.model.norm).__module__]
start = module.apply_rotary_pos_emb
module.apply_rotary_pos_emb = lambda q, k, *more: start(q * (1 + len(update.subject) / 10), k, *more)"""
EVERYWHERE = """
def louder(module, taken, given): return given * 1.01 if isinstance(given, torch.Tensor) else None
torch.nn.modules.module.register_module_forward_hook(louder)"""
TOKENS = """
tokenizer.add_tokens([update.subject])
model.model.norm.weight.data *= 1 + len(tokenizer) / 1000"""
HYPER = "layers.append(1)\nmodel.model.norm.weight.data *= 1 + len(layers) / 100"


@pytest.mark.parametrize("body", [CLASS, FUNCTION, EVERYWHERE, TOKENS, HYPER])
def test_what_a_method_changes_beyond_the_model_does_not_reach_the_next_edit(
    world: Path, tmp_path: Path, body: str
) -> None:
    given = code(tmp_path, body).removesuffix(":edit")
    text = (
        Path(given).read_text(encoding="utf-8").replace("tokenizer, update)", "tokenizer, update, layers=[])")
    )
    Path(given).write_text(text, encoding="utf-8")
    base = made(world, tmp_path / "none", "none")
    whole = made(world, tmp_path / "whole", f"{given}:edit", batch=1)
    count = len(whole[1])
    last = made(world, tmp_path / "last", f"{given}:edit", batch=1, shard=(count - 1, count))
    assert last[0] == whole[0][-len(last[0]) :]
    logprobs, unedited, again = (
        [row["logprob"] for row in rows]
        for rows in (whole[0], base[0], made(world, tmp_path / "b", "none")[0])
    )
    assert logprobs != unedited
    assert again == unedited


KEEPS = """
seen.append(update.id)
model.model.norm.weight.data *= 1 + len(seen) / 100"""


def test_a_method_that_keeps_something_between_edits_is_refused(world: Path, tmp_path: Path) -> None:
    said = r"the edit .* gives other results .* log-probability of .* \(variables that changed: seen\)"
    for name, batch in (("one", 5), ("more", 1)):
        given = code(tmp_path, KEEPS, "seen = []", name=name)
        with pytest.raises(InputError, match=said):
            made(world, tmp_path / name, given, batch=batch)
    fails = code(
        tmp_path, "seen.append(1)\nif len(seen) > 5: raise ValueError('full')", "seen = []", name="f"
    )
    with pytest.raises(InputError, match="no failure, then ValueError: full"):
        made(world, tmp_path / "fails", fails, batch=1)
    text = BATCHED.replace("    return", "    seen.append(1)\n    write = write * len(seen)\n    return")
    text = text.replace("def edit", "seen = []\ndef edit") + "Edited(deltas={name: LowRank(read, write)})"
    (tmp_path / "batched.py").write_text(text, encoding="utf-8")
    for regime in ("independent", "sequential"):
        with pytest.raises(InputError, match=said):
            made(world, tmp_path / regime, f"{tmp_path}/batched.py:edit", regime=regime, group=2)


def test_random_numbers_are_those_of_the_edit(world: Path, tmp_path: Path) -> None:
    body = "model.model.norm.weight.data += torch.randn(24) + __import__('random').random()"
    given = code(tmp_path, body)
    torch.manual_seed(5)
    following = torch.rand(3)
    torch.manual_seed(5)
    whole = made(world, tmp_path / "whole", given, batch=1)
    assert torch.equal(torch.rand(3), following)
    parts = [made(world, tmp_path / str(k), given, batch=1, shard=(k, 3)) for k in (2, 0, 1)]
    assert whole[0] == [row for part in (parts[1], parts[2], parts[0]) for row in part[0]]
    assert len({row["logprob"] for row in whole[0]}) > len(whole[0]) / 2


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("loaded.model.model.norm.weight.data *= 1.01", "it changed model.norm.weight of tiny-llama"),
        ("matrix.data.copy_(matrix.data.flip(0))", "it changed model.layers.1.mlp.up_proj.weight of"),
        ("loaded.model.model.norm.weight = torch.nn.Parameter(matrix[0] * 0)", "changed model.norm.weight"),
        ("loaded.model.model.norm.register_forward_hook(lambda *given: None)", "a hook on model.norm of"),
        ("torch.nn.modules.module.register_module_forward_hook(print)", "a hook on all modules of"),
        ("type(loaded.model.model.norm).louder = 2", "it changed LlamaRMSNorm.louder of"),
        (
            "loaded.tokenizer.add_tokens(['Bidens'])",
            "the tokenizer of tiny-llama and did not undo",
        ),
        ("loaded.model.train().requires_grad_(True)", ""),
    ],
)
def test_a_batched_method_leaves_the_model_alone(world: Path, tmp_path: Path, line: str, said: str) -> None:
    loaded = tiny_model("llama", dtype=torch.float64)
    loaded = replace(loaded, tokenizer=copy.deepcopy(loaded.tokenizer))
    start = Snapshot(loaded.model)
    matrix = "    matrix = loaded.model.model.layers[1].mlp.up_proj.weight\n"
    text = BATCHED.replace("    return", f"{matrix}    {line}\n    return")
    text += "Edited(deltas={name: LowRank(read, write)})"
    (tmp_path / "mine.py").write_text(text, encoding="utf-8")
    method = f"{tmp_path}/mine.py:edit"
    regime = "sequential" if "hook" in line else "independent"
    try:
        if said:
            with pytest.raises(InputError, match=said):
                made(world, tmp_path, method, loaded=loaded, regime=regime)
        else:
            made(world, tmp_path, method, loaded=loaded)
            assert not loaded.model.training
            assert not any(one.requires_grad for one in loaded.model.parameters())
    finally:
        start.restore()


def test_only_named_parameters_are_copied(world: Path, tmp_path: Path) -> None:
    whole = made(world, tmp_path / "whole", code(tmp_path, CHANGE))
    named = code(tmp_path, CHANGE, "edit.changes = ['model.layers.1.mlp.*']", name="named")
    assert_alike(made(world, tmp_path / "named", named), whole, 0)
    for changes, said in (
        ("['model.layers.2.*']", "it changed model.layers.1.mlp.down_proj.weight, which its attribute"),
        ("['layers.1.*']", "has no parameter layers.1"),
        ("['model.layers.{layer}.*']", "KeyError: 'layer'"),
    ):
        given = code(tmp_path, CHANGE, f"edit.changes = {changes}", name="wrong" + str(len(said)))
        with pytest.raises(InputError, match=said):
            made(world, tmp_path / "wrong", given)


def test_what_a_method_must_not_do_is_named(world: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"edit\.regime: batch: mine takes one update at a time"):
        made(world, tmp_path, code(tmp_path, CHANGE), regime="batch")
    with pytest.raises(InputError, match="it returned tuple; a plain method returns None or a model"):
        made(world, tmp_path, code(tmp_path, "return model, 1", name="pair"))
    shorter = "return lambda **given: type('X', (), {'logits': model(**given).logits[:, 1:]})"
    said = r"shorter\.py:edit: .* gives logits of shape \(1, 15, 340\) for a text of 16 tokens"
    with pytest.raises(InputError, match=said):
        made(world, tmp_path, code(tmp_path, shorter, name="shorter"))
    with pytest.raises(InputError, match=r"nothing\.py:edit: .* cannot be run as it is probed, .* attribute"):
        made(world, tmp_path, code(tmp_path, "return lambda **given: 1", name="nothing"))
    with pytest.raises(InputError, match=r"mine\.layer: tiny-llama has no block 7"):
        made(world, tmp_path, f"{world}/mine.py:edit", {"layer": 7})


BATCHED = """
import torch
from factdrift.evaluation.methods.interface import Edited
from factdrift.models.deltas import Dense, LowRank
def edit(loaded, edits, hyper, artefacts):
    n, name = len(edits), "model.layers.1.mlp.down_proj"
    read, write = torch.ones(n, 56, 1).double(), torch.ones(n, 24, 1).double()
    return """


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        ("{name: 1}", "it returned dict where an Edited is wanted"),
        ("Edited(deltas={'no.module': LowRank(read, write)})", "has no module no.module with a weight"),
        ("Edited(deltas={name: LowRank(write, read)})", r"read of .* has shape \(2, 24, 1\); \(2, 56, 1\)"),
        ("Edited(deltas={name: LowRank(read[1:], write[1:])})", "1 changes for 2 edits, without owner"),
        ("Edited(deltas={name: LowRank(read.float(), write)})", "read of .* is torch.float32 on cpu"),
        ("Edited(deltas={name: Dense(torch.ones(n, 24, 56).double(), write)})", "has no bias to change"),
        ("Edited(deltas={name: read})", "is Tensor, neither LowRank nor Dense"),
        ("Edited(contexts=['a'])", "1 contexts for 2 edits"),
        ("Edited(failed={3: 'no'})", "failed has keys other than 0 to 1"),
    ],
)
def test_what_a_batched_method_returns_is_checked(
    world: Path, tmp_path: Path, returned: str, said: str
) -> None:
    (tmp_path / "mine.py").write_text(BATCHED + returned, encoding="utf-8")
    with pytest.raises(InputError, match=said):
        made(world, tmp_path, f"{tmp_path}/mine.py:edit")


def test_a_change_that_is_not_finite_has_failed(world: Path, tmp_path: Path) -> None:
    text = BATCHED.replace("    return", "    read[0] = float('nan')\n    return")
    (tmp_path / "mine.py").write_text(text + "Edited(deltas={name: LowRank(read, write)})", encoding="utf-8")
    _, rows = made(world, tmp_path, f"{tmp_path}/mine.py:edit")
    assert [row["failed"] for row in rows] == ["diverged", None, "diverged", None, "diverged"]
