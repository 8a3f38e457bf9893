"""Methods of the user's own on a tiny model: the documents' examples, and what may go wrong in place."""

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from support.asking import Told, ask
from support.own_methods import install, write_examples
from support.tiny_models import tiny_model
from support.updates import edits, update

from factdrift.core.errors import InputError
from factdrift.evaluation.methods.hyperparameters import read_hyper
from factdrift.evaluation.methods.interface import Artefacts, Edit
from factdrift.evaluation.methods.own import entry
from factdrift.evaluation.questions.clozes import read_edits
from factdrift.evaluation.states.edited import edited
from factdrift.evaluation.states.plain import InPlace
from factdrift.models.alignment import align
from factdrift.models.loaded import Loaded
from factdrift.models.snapshot import Snapshot

BATCHED = """
import torch
from factdrift.evaluation.methods.interface import Edited
from factdrift.models.deltas import Dense, LowRank
seen = []
def edit(loaded, edits, hyper, artefacts):
    n, name = len(edits), "model.layers.1.mlp.down_proj"
    read, write = torch.ones(n, 56, 1).double(), torch.ones(n, 24, 1).double()
    LINE
    return RETURNED"""


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> Path:
    """A folder with edits and the documents' examples."""
    folder = tmp_path_factory.mktemp("world")
    edits(folder, [update(*one) for one in (("New Orleans", 1), ("Atlantis", 2), ("Poseidonis", 3))])
    return write_examples(folder)


def made(
    world: Path,
    out: Path,
    method: str,
    values: dict[str, Any] | None = None,
    *,
    loaded: Loaded | None = None,
    **options: Any,
) -> Told:
    """What a method gives in double precision; `options`: see `ask`."""
    given = read_hyper(method, "tiny-llama", values)
    updates = read_edits(world / "edits.parquet")
    return ask(loaded or tiny_model("llama"), updates, out, given, **{"written_tokens": 4} | options)


def assert_alike(one: Told, other: Told, within: float) -> None:
    def ordered(told: Told) -> list[dict[str, Any]]:
        return sorted(told.answers, key=lambda row: str(row["question"]))  # batches differ

    for mine, theirs in zip(ordered(one), ordered(other), strict=True):
        for name in ("question", "exact", "output", "reason"):
            assert mine[name] == theirs[name]
        if theirs["logprobs"] is not None:
            assert mine["logprobs"] == pytest.approx(theirs["logprobs"], abs=within)


def code(folder: Path, body: str, more: str = "", name: str = "mine") -> str:
    """A plain method whose body is given."""
    lines = ["import torch", "def edit(model, tokenizer, update):"]
    lines += [f"    {line}" for line in body.splitlines()] + more.splitlines()
    (folder / f"{name}.py").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return f"{folder}/{name}.py:edit"


def batched(
    folder: Path, line: str = "", returned: str = "Edited(deltas={name: LowRank(read, write)})"
) -> str:
    """A batched method with a line of its own."""
    text = BATCHED.replace("LINE", line).replace("RETURNED", returned)
    (folder / "batched.py").write_text(text, encoding="utf-8")
    return f"{folder}/batched.py:edit"


def test_plain_fine_tuning_in_turn_is_ours(world, tmp_path):
    values, chosen = {"lr": 0.01, "steps": 6, "stop_loss": 0.01}, {"regime": "sequential", "group": 2}
    ours = made(world, tmp_path / "ours", "ft", {"layers": [1], **values}, **chosen)
    plain = made(world, tmp_path / "plain", f"{world}/mine.py:edit", {"layer": 1, **values}, **chosen)
    assert_alike(plain, ours, 1e-5)  # logits are rounded to float32
    assert {row["method"] for rows in plain[:3] for row in rows} == {"mine"}
    base, found = (one.logprobs() for one in (made(world, tmp_path / "none", "none"), plain))
    assert max(abs(found[key] - value) for key, value in base.items()) > 0.1


@pytest.mark.parametrize("module", ["own_package", "math", "sys"])
def test_an_entry_point_without_a_file_in_python_is_refused(tmp_path, monkeypatch, module):
    """A package without `__init__`, and what is built in."""
    site = install(tmp_path / "site")
    (site / "own_package/__init__.py").unlink()
    points = "[factdrift.methods]\nelsewhere = MODULE:edit\n".replace("MODULE", module)
    (site / "own_package-1.0.dist-info/entry_points.txt").write_text(points, encoding="utf-8")
    monkeypatch.syspath_prepend(site)
    with pytest.raises(InputError, match=f"the entry point '{module}:edit' must be a function of"):
        entry("elsewhere")


def test_an_entry_point_is_run_as_the_same_file_is(world, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(install(tmp_path / "site"))
    with pytest.raises(InputError, match=r"own_package.module cannot be imported: ImportError: only jobs"):
        made(world, tmp_path / "fails", "elsewhere", {"lr": 0.01})
    (tmp_path / "site/own_package/__init__.py").write_text("", encoding="utf-8")
    found = made(world, tmp_path / "point", "elsewhere", {"lr": 0.01})
    assert_alike(found, made(world, tmp_path / "file", f"{world}/mine.py:edit", {"lr": 0.01}), 0)
    assert {row["method"] for row in found.edits} == {"elsewhere"}


CHANGE = "model.model.layers[1].mlp.down_proj.weight.data *= 1 + len(update.subject) / 10"
FAILS = "if update.target == 'Joe Biden': raise ValueError('no\\nway')"
HOOK = """
def louder(module, taken, given): return given * (1 + len(update.subject) / 10)
model.model.layers[1].mlp.down_proj.register_forward_hook(louder)"""
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


def test_hooks_and_wrappers_are_probed_like_changed_weights(world, tmp_path):
    weights = made(world, tmp_path / "weights", code(tmp_path, CHANGE))
    for name, body in {"hook": HOOK, "wrapper": WRAPPER}.items():
        assert_alike(made(world, tmp_path / name, code(tmp_path, body, name=name)), weights, 1e-9)


def test_what_looks_at_the_end_of_a_text_sees_no_padding_and_no_other_row(world, tmp_path):
    """A hook that uses the last token of the first row: padding or another row there would change results."""
    body = """
def last(module, taken, given): return given + given[:1, -1:]
model.model.layers[1].mlp.down_proj.register_forward_hook(last)"""
    found = made(world, tmp_path, code(tmp_path, body), batch=3)
    loaded = tiny_model("llama")
    handle = loaded.model.model.layers[1].mlp.down_proj.register_forward_hook(
        lambda module, taken, given: given + given[:1, -1:]
    )
    asked = {each.id: each for each in read_edits(world / "edits.parquet").questions}
    for row in found.of_way("loglik"):
        one = align(loaded.tokenizer, asked[row["question"]].prompt, asked[row["question"]].targets[0])
        logits = loaded.model(torch.tensor([one.ids[:-1]])).logits[0].log_softmax(-1)[one.target - 1 :]
        wanted = logits.gather(1, torch.tensor(one.ids[one.target :])[:, None]).mean()
        assert row["logprobs"] == pytest.approx([wanted.item()], abs=1e-6)
    said = found.of_way("written")[0]
    text = torch.tensor([align(loaded.tokenizer, asked[said["question"]].prompt, "").ids])
    start = text.shape[1]
    for _ in range(4):
        text = torch.cat([text, loaded.model(text).logits[:, -1:].argmax(-1)], 1)
    handle.remove()
    assert said["output"].startswith(loaded.tokenizer.decode(text[0, start:], skip_special_tokens=True))


@pytest.mark.parametrize("regime", ["independent", "sequential"])
def test_an_edit_that_raises_has_failed_and_leaves_nothing_behind(world, tmp_path, regime, capsys):
    loaded = tiny_model("llama")
    start = {name: one.clone() for name, one in loaded.model.state_dict().items()}
    given = code(tmp_path, f"{CHANGE}\n{HOOK.strip()}\n{FAILS}", name="raises")
    found = made(world, tmp_path / "raises", given, loaded=loaded, regime=regime, group=3)
    assert all(torch.equal(start[name], one) for name, one in loaded.model.state_dict().items())
    assert not any(one._forward_hooks for one in loaded.model.modules())
    failed = {row["edit"] for row in found.edits if row["failed"] == "ValueError: no"}
    assert failed == {"Q2-P6"}
    assert {row["edit"] for row in found.answers if row["reason"] == "edit_failed"} == failed
    assert capsys.readouterr().err.count("Traceback") == 1
    skips = code(tmp_path, f"{FAILS}\n{CHANGE}\n{HOOK.strip()}", name="skips")
    other = made(world, tmp_path / "skips", skips, regime=regime, group=3)
    assert_alike(found, other, 0)


WRAPPED = """
import functools
inner = getattr(model, "func", model)
inner.model.norm.weight.data *= 2
if update.target == 'Joe Biden': raise ValueError('no way')
return functools.partial(inner)"""


def test_an_edit_that_raises_leaves_what_earlier_ones_changed_below_a_wrapper(tmp_path):
    loaded = tiny_model("llama")
    norm = loaded.model.model.norm.weight
    start = norm.detach().clone()
    hyper = read_hyper(code(tmp_path, WRAPPED, name="wrapped"), "tiny")
    edits = [Edit(name, "A is", "A", new) for name, new in (("a", "sea"), ("b", "Joe Biden"), ("c", "sea"))]
    with InPlace(loaded, hyper).apply(edits) as placed:
        assert placed.made.failed == {1: "ValueError: no way"}
        assert torch.equal(norm, 4 * start)
    assert torch.equal(norm, start)


BEYOND = """
kind, of_kind = type(model.model.norm), type(model.model.norm).forward
kind.forward = lambda self, taken: of_kind(self, taken) * (1 + len(update.subject) / 100)
file = __import__('sys').modules[kind.__module__]
rotate = file.apply_rotary_pos_emb
file.apply_rotary_pos_emb = lambda q, k, *more: rotate(q * (1 + len(update.subject) / 10), k, *more)
def louder(module, taken, given): return given * 1.01 if isinstance(given, torch.Tensor) else None
torch.nn.modules.module.register_module_forward_hook(louder)
tokenizer.add_tokens([update.id])
layers.append(1)
model.model.norm.weight.data *= 1 + len(tokenizer) / 1000 + len(layers) / 100
model.model.norm.weight.data += torch.randn(24) + __import__('random').random()"""
"""Changes a class, a function, all modules, the tokenizer and a hyper-parameter, and draws numbers."""


def test_what_a_method_changes_beyond_the_model_does_not_reach_the_next_edit(world, tmp_path):
    given = code(tmp_path, BEYOND).removesuffix(":edit")
    text = Path(given).read_text(encoding="utf-8")
    Path(given).write_text(text.replace("update)", "update, layers=[])", 1), encoding="utf-8")
    base = made(world, tmp_path / "none", "none").logprobs()
    torch.manual_seed(5)
    following = torch.rand(3)
    torch.manual_seed(5)
    last = made(world, tmp_path / "last", f"{given}:edit", batch=1, shard=(2, 3))
    assert torch.equal(torch.rand(3), following)
    whole = made(world, tmp_path / "whole", f"{given}:edit", batch=1)
    assert last.answers == whole.answers[-len(last.answers) :]
    assert whole.logprobs() != base
    assert made(world, tmp_path / "again", "none").logprobs() == base


KEEPS = """
seen.append(update.id)
model.model.norm.weight.data *= 1 + len(seen) / 100"""


def test_a_method_that_keeps_something_between_edits_is_refused(world, tmp_path):
    said = r"the edit .* gives other results .* log-probability of .* \(variables that changed: seen\)"
    for name, batch in (("one", 3), ("more", 1)):
        given = code(tmp_path, KEEPS, "seen = []", name=name)
        with pytest.raises(InputError, match=said):
            made(world, tmp_path / name, given, batch=batch)
    body = "seen.append(1)\nif len(seen) > 4: raise ValueError('full')"
    fails = code(tmp_path, body, "seen = []", name="f")
    with pytest.raises(InputError, match="no failure, then ValueError: full"):
        made(world, tmp_path / "fails", fails, batch=1)
    given = batched(tmp_path, "seen.append(1); write = write * len(seen)")
    for regime in ("independent", "sequential"):
        with pytest.raises(InputError, match=said):
            made(world, tmp_path / regime, given, regime=regime, group=2)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("loaded.model.model.norm.weight.data *= 1.01", "it changed model.norm.weight of tiny-llama"),
        ("loaded.model.model.norm.weight = torch.nn.Parameter(write[0, :, 0])", "model.norm.weight of tiny"),
        ("loaded.model.model.norm.register_forward_hook(lambda *given: None)", "a hook on model.norm of"),
        ("torch.nn.modules.module.register_module_forward_hook(print)", "a hook on all modules of"),
        ("type(loaded.model.model.norm).louder = 2", "it changed LlamaRMSNorm.louder of"),
        ("loaded.tokenizer.add_tokens(['Bidens'])", "the tokenizer of tiny-llama and did not undo"),
        ("loaded.model.train().requires_grad_(True)", ""),
    ],
)
def test_a_batched_method_leaves_the_model_alone(world, tmp_path, line, said):
    loaded = tiny_model("llama")
    loaded = replace(loaded, tokenizer=copy.deepcopy(loaded.tokenizer))
    start = Snapshot(loaded.model)
    method = batched(tmp_path, line)
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


def test_only_named_parameters_are_copied(world, tmp_path):
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


def test_what_a_method_must_not_do_is_named(world, tmp_path):
    with pytest.raises(InputError, match="it returned tuple; a plain method returns None or a model"):
        made(world, tmp_path, code(tmp_path, "return model, 1", name="pair"))
    shorter = "return lambda **given: type('X', (), {'logits': model(**given).logits[:, 1:]})"
    said = r"shorter\.py:edit: .* gives logits of shape \(1, 14, 340\) for a text of 15 tokens"
    with pytest.raises(InputError, match=said):
        made(world, tmp_path, code(tmp_path, shorter, name="shorter"))
    with pytest.raises(InputError, match=r"nothing\.py:edit: .* cannot be run as it is probed, .* attribute"):
        made(world, tmp_path, code(tmp_path, "return lambda **given: 1", name="nothing"))
    with pytest.raises(InputError, match=r"mine\.layer: tiny-llama has no block 7"):
        made(world, tmp_path, f"{world}/mine.py:edit", {"layer": 7})


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
        ("Edited(deltas={name: LowRank(read[1:], write[1:])}, owner=[0, 1])", "owner has the entry 1; give"),
        ("Edited(deltas={name: LowRank(read, write)}, owner=[0, -2])", "owner has the entry -2; give"),
    ],
)
def test_what_a_batched_method_returns_is_checked(world, tmp_path, returned, said):
    with pytest.raises(InputError, match=said):
        made(world, tmp_path, batched(tmp_path, returned=returned))


def test_what_an_edit_that_fails_has_remembered_is_forgotten(tmp_path):
    line = "memory = [*(artefacts.memory or []), edits[0].id]"
    returned = "Edited(failed={0: 'no'} if edits[0].id == 'b' else {}, memory=memory)"
    hyper = read_hyper(batched(tmp_path, line, returned), "tiny")
    edits = [Edit(name, "A is", "A", "sea") for name in "abc"]
    assert edited(tiny_model("llama"), edits, hyper, Artefacts(), "sequential").memory == ["a", "c"]


def test_a_change_that_is_not_finite_has_failed(world, tmp_path):
    rows = made(world, tmp_path, batched(tmp_path, "read[0] = float('nan')")).edits
    assert [row["failed"] for row in rows] == ["diverged", None, "diverged"]
    shared = "deltas={name: LowRank(read[:1], write[:1])}, owner=[0] * n"
    one = f"Edited({shared}, failed={{1: 'no'}} if n > 1 else {{}})"
    rows = made(world, tmp_path / "one", batched(tmp_path, returned=one)).edits
    assert [row["failed"] for row in rows] == [None, "no", None]
