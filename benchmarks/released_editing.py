"""Methods as their authors released them, on the facts, prefixes, moments and initial values of `editing.py`.

Each checkout is known by a file: ROME, MEMIT, FT and MEND of github.com/kmeng01/memit, AlphaEdit of
jianghoucheng/AlphaEdit, UltraEdit of XiaojieGu/UltraEdit, GRACE of Thartvigsen/GRACE, and LoRA of
zjunlp/EasyEdit. Its Python files are copied, with the device written in the place of "cuda", which stands
there literally, and with empty `__init__` files, since these import all of a package. Libraries for settings
and logs that are not installed are replaced by empty modules; MEND's code needs `higher` (0.2.1). What the
code prints is not shown.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple
from unittest.mock import patch

import torch
from released_checkout import (
    Changes,
    Way,
    copied,
    hyperparameters,
    restored,
    shaped,
    show_as_gpt,
    silenced,
    silent,
)

from factdrift.evaluation.methods.grace import wrapped
from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.interface import Artefacts, Edit
from factdrift.evaluation.methods.lora import Training, target_names
from factdrift.evaluation.methods.shared import generator
from factdrift.evaluation.methods.ultraedit import edited_matrices
from factdrift.models.alignment import align
from factdrift.models.loaded import Loaded


class Released(NamedTuple):
    marker: str
    """A file of the checkout."""
    make: Callable[[Loaded, Hyper, Artefacts], Way]


def found(method: str, checkouts: Sequence[Path]) -> Path | None:
    """The first checkout that has a method; None if no one has it."""
    marker = METHODS[method].marker if method in METHODS else "."
    return next((path for path in checkouts if (path / marker).is_file()), None)


@contextlib.contextmanager
def method(checkout: Path, loaded: Loaded, hyper: Hyper, artefacts: Artefacts) -> Iterator[Way]:
    """A method of a checkout; its modules are forgotten at the end, since others have the same names."""
    with tempfile.TemporaryDirectory(prefix="released-") as name:
        folder = Path(name)
        copied(checkout, folder, loaded.device)
        before = set(sys.modules)
        sys.path.insert(0, name)
        try:
            with contextlib.chdir(folder), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                with silent():
                    way = METHODS[hyper.method].make(loaded, hyper, artefacts)
                yield silenced(loaded, way)
        finally:
            for handle in vars(loaded.model).pop("handles", ()):  # of MEND
                handle.remove()
            sys.path.remove(name)
            for module in set(sys.modules) - before:
                if (getattr(sys.modules[module], "__file__", None) or "").startswith(name):
                    del sys.modules[module]


def _rome(loaded: Loaded, hyper: Hyper, artefacts: Artefacts) -> Way:
    inverse = {name: torch.inverse(matrix) for name, matrix in _moments(loaded, artefacts).items()}
    importlib.import_module("rome.compute_u").get_inv_cov = lambda model, tok, name, *_: inverse[name]
    module = importlib.import_module("rome.rome_main")
    module.get_context_templates = lambda *_: [prefix + "{}" for prefix in artefacts.prefixes]
    return _executed(loaded, hyper, module.execute_rome, lambda facts: _request(facts[0]))


def _memit(loaded: Loaded, hyper: Hyper, artefacts: Artefacts) -> Way:
    moments = _moments(loaded, artefacts)
    show_as_gpt(loaded)
    module = importlib.import_module("memit.memit_main")
    module.get_cov = lambda model, tok, name, *_, **__: moments[name].clone()
    module.get_context_templates = lambda *_: _templates(artefacts)
    return _executed(loaded, hyper, module.execute_memit)


def _ft(loaded: Loaded, hyper: Hyper, artefacts: Artefacts) -> Way:
    return _executed(loaded, hyper, importlib.import_module("baselines.ft.ft_main").execute_ft)


def _alphaedit(loaded: Loaded, hyper: Hyper, artefacts: Artefacts) -> Way:
    """The memory of earlier edits is empty, as it is for one edit."""
    show_as_gpt(loaded)
    module = importlib.import_module("AlphaEdit.AlphaEdit_main")
    module.get_context_templates = lambda *_: _templates(artefacts)
    projections = []
    for layer in hyper["layers"]:
        values, vectors = artefacts.moments[layer].eigen
        null = vectors[:, values < hyper["null_space_below"]]
        projections.append((null @ null.T).float())
    projection, settings = torch.stack(projections), hyperparameters(loaded, hyper)
    matrices = [loaded.spec.module(layer, loaded.spec.down) for layer in hyper["layers"]]

    def way(facts: Sequence[Edit]) -> Changes:
        memory = torch.zeros_like(projection, device="cpu")
        requests = [_request(fact) for fact in facts]
        with restored(loaded, matrices) as changes:
            module.apply_AlphaEdit_to_model(
                loaded.model, loaded.tokenizer, requests, settings, cache_c=memory, P=projection
            )
        return changes

    return way


def _mend(loaded: Loaded, hyper: Hyper, artefacts: Artefacts) -> Way:
    net, model = artefacts.editor, loaded.model
    names = [f"{name}.weight" for name in net.matrices]
    shape = {"n_hidden": 1, "init": "id", "norm": True, "combine": True, "act": "relu", "shared": True}
    others = dict.fromkeys(("one_sided", "x_only", "delta_only"), False)
    config = SimpleNamespace(
        model=SimpleNamespace(inner_params=names, name="any"),
        mend=SimpleNamespace(**shape, **others, rank=net.rank, mlp_class="IDMLP"),
        edit_lr=0.0,
    )
    module = importlib.import_module("baselines.mend.mend_main")
    executor = module.MendRewriteExecutor()
    executor.model, executor.tokenizer, executor.is_init = model, loaded.tokenizer, True
    algorithm = executor.alg = module.MEND(model, config, None)
    with torch.no_grad():
        algorithm.edit_lrs.copy_(net.rates)
        for key, theirs in algorithm.mend.items():
            ours = next(one for one in net.editors.values() if str(tuple(one.shape)) == key)
            for side, part in (("u", ours.entering), ("v", ours.leaving)):
                getattr(theirs, f"{side}_mean").copy_(part.mean)
                getattr(theirs, f"{side}_std").copy_((part.squares / (part.count - 1)).sqrt())
            for layer, own in zip(theirs.mlp.layers, ours.layers, strict=True):
                pairs = [(layer.u, own.u), (layer.v, own.v), (layer.bias, own.bias)]
                pairs += [(layer.mode_scale.weight, own.scale), (layer.mode_shift.weight, own.shift)]
                for to, value in pairs:
                    to.copy_(value)
    algorithm.eval()
    # The name by which the code knows a model whose matrices are [d_out, d_in].
    wide = (
        model.get_submodule(next(iter(net.matrices))).weight.shape[0] == next(iter(net.matrices.values()))[1]
    )
    settings = SimpleNamespace(model_name="gpt-j-6B" if wide else "gpt2", lr_scale=1.0)

    def way(facts: Sequence[Edit]) -> Changes:
        for name in names:
            model.get_parameter(name).requires_grad_(True)
        with restored(loaded, net.matrices) as changes:
            executor.apply_to_model(model, loaded.tokenizer, [_request(fact) for fact in facts], settings)
        return changes

    return way


def _grace(loaded: Loaded, hyper: Hyper, artefacts: Artefacts) -> Way:
    module = importlib.import_module("grace.editors.grace")
    name = wrapped(loaded, hyper)
    parent, part = loaded.model.get_submodule(name.rpartition(".")[0]), name.rpartition(".")[2]
    config = {
        "model": {"inner_params": [re.sub(r"\.(\d+)", r"[\1]", name) + ".weight"]},
        "device": loaded.device,
        "experiment": {"task": "hallucination"},  # the key is that of the prompt's last token
        "editor": {
            **{"dist_fn": "euc", "num_pert": 1, "val_init": "cold", "val_train": "sgd"},
            **{"eps": hyper["radius"], "eps_expand": "coverage", "replacement": f"replace_{hyper['tokens']}"},
            **{"n_iter": hyper["steps"], "edit_lr": hyper["lr"]},
        },
    }

    def way(facts: Sequence[Edit]) -> Changes:
        (fact,) = facts
        sentence = align(loaded.tokenizer, fact.prompt, fact.target)
        ids = torch.tensor([sentence.ids], device=loaded.device)
        labels = ids.clone()
        labels[:, : sentence.target] = -100

        def drawn(rows: int, width: int, **_: Any) -> torch.Tensor:
            noise = generator(f"{hyper['seed']}/{fact.id}")
            return rand(width, generator=noise).expand(rows, -1).clone().to(loaded.device)

        rand, layer = torch.rand, getattr(parent, part)
        editor = module.GRACE(config, SimpleNamespace(model=loaded.model, tokenizer=loaded.tokenizer))
        adaptor = getattr(parent, part)
        try:
            with patch("torch.rand", drawn):
                editor.edit(config, {"input_ids": ids, "labels": labels}, None)
        finally:
            setattr(parent, part, layer)
        return {f"{name}.keys": adaptor.keys[0].detach(), f"{name}.values": adaptor.values[0].detach()}

    return way


def _ultraedit(loaded: Loaded, hyper: Hyper, artefacts: Artefacts) -> Way:
    module = importlib.import_module("editor.ultraedit")
    importlib.import_module("editor.base").AutoTokenizer = SimpleNamespace(from_pretrained=lambda name: None)
    names = edited_matrices(loaded, hyper)

    def way(facts: Sequence[Edit]) -> Changes:
        data = SimpleNamespace(name="facts", n_edits=len(facts), batch_size=hyper["batch"])
        editor = SimpleNamespace(
            name="ultraedit", lr=hyper["lr"], batch_size=128, token="ans", cache_dir="cache"
        )
        config = SimpleNamespace(
            model=SimpleNamespace(edit_modules=names, name="any", name_or_path="any"),
            **{"dataset": data, "editor": editor, "editor_device": loaded.device, "num_seq": 1},
        )
        for name in names:
            loaded.model.get_submodule(name).weight.requires_grad_(True)
        made = module.ULTRAEDIT(config, loaded.model)
        made.cache(list(_label_batches(loaded, facts, hyper["batch"])))
        return {name: change.T.detach() for name, change in made.predict_param_shifts().items()}

    return way


def _label_batches(loaded: Loaded, facts: Sequence[Edit], size: int) -> Iterator[dict[str, torch.Tensor]]:
    """Facts as UltraEdit's reader gives them: longest first, each label at the token that predicts it."""
    sentences = [align(loaded.tokenizer, fact.prompt, fact.target) for fact in facts]
    sentences.sort(key=lambda sentence: -len(sentence.ids))
    for start in range(0, len(sentences), size):
        some = sentences[start : start + size]
        width = len(some[0].ids)
        ids = torch.tensor([[*one.ids, *[0] * (width - len(one.ids))] for one in some], device=loaded.device)
        labels = torch.full_like(ids, -100)
        for row, one in enumerate(some):
            target = torch.tensor(one.ids[one.target :], device=loaded.device)
            labels[row, one.target - 1 : len(one.ids) - 1] = target
        mask = torch.tensor([[1] * len(one.ids) + [0] * (width - len(one.ids)) for one in some])
        yield {"input_ids": ids, "attention_mask": mask.to(loaded.device), "labels": labels}


def _lora(loaded: Loaded, hyper: Hyper, artefacts: Artefacts) -> Way:
    module = importlib.import_module("easyeditor.models.lora.lora_main")
    names, model = target_names(loaded, hyper), loaded.model
    settings = SimpleNamespace(
        **{"lora_type": "lora", "rank": hyper["rank"], "lora_alpha": hyper["alpha"]},
        **{"lora_dropout": hyper["dropout"], "layers": [], "lr": hyper["lr"], "batch_size": hyper["batch"]},
        target_modules=sorted({name.rpartition(".")[2] for name in names}),
        **{"weight_decay": hyper["weight_decay"], "num_steps": hyper["steps"]},
        **{"model_name": "any", "device": loaded.device},
    )
    get_peft_model = module.get_peft_model

    def way(facts: Sequence[Edit]) -> Changes:
        start = Training(loaded, hyper, ["\n".join(fact.id for fact in facts)]).a

        def begun(model: Any, config: Any) -> Any:
            wrapped_model = get_peft_model(model, config)
            with torch.no_grad():
                for name in names:
                    model.get_submodule(name).lora_A["default"].weight.copy_(start[name][0])
            return wrapped_model

        requests = [{**_request(fact), "target_new": fact.target} for fact in facts]
        with patch.object(module, "get_peft_model", begun):
            made = module.execute_lora(model, loaded.tokenizer, requests, settings)
        changes = {name: model.get_submodule(name).get_delta_weight("default").detach() for name in names}
        made.unload()
        vars(model).pop("peft_config", None)
        model.disable_input_require_grads()
        model.gradient_checkpointing_disable()
        model.config.use_cache = True
        return changes

    return way


METHODS = {
    "rome": Released("rome/rome_main.py", _rome),
    "memit": Released("memit/memit_main.py", _memit),
    "ft": Released("baselines/ft/ft_main.py", _ft),
    "ft_l": Released("baselines/ft/ft_main.py", _ft),
    "mend": Released("baselines/mend/mend_main.py", _mend),
    "alphaedit": Released("AlphaEdit/AlphaEdit_main.py", _alphaedit),
    "ultraedit": Released("editor/ultraedit.py", _ultraedit),
    "lora": Released("easyeditor/models/lora/lora_main.py", _lora),
    "grace": Released("grace/editors/grace.py", _grace),
}


def _request(fact: Edit) -> dict[str, Any]:
    return {
        "case_id": fact.id,
        "prompt": fact.prompt.replace(fact.subject, "{}"),
        "subject": fact.subject,
        "target_new": {"str": fact.target},
    }


def _templates(artefacts: Artefacts) -> list[list[str]]:
    templates = [prefix + "{}" for prefix in artefacts.prefixes]
    return [templates[:1], templates[1:]]


def _moments(loaded: Loaded, artefacts: Artefacts) -> dict[str, torch.Tensor]:
    return {
        loaded.spec.module(layer, loaded.spec.down): kept.matrix.to(loaded.device).float()
        for layer, kept in artefacts.moments.items()
    }


def _executed(
    loaded: Loaded,
    hyper: Hyper,
    function: Callable[..., Mapping[str, Any]],
    requests: Callable[[Sequence[Edit]], Any] = lambda facts: [_request(fact) for fact in facts],
) -> Way:
    """A function that returns changes and puts the model back; ROME's and MEMIT's come as two factors."""
    settings = hyperparameters(loaded, hyper)

    def way(facts: Sequence[Edit]) -> Changes:
        made = function(loaded.model, loaded.tokenizer, requests(facts), settings)
        return {name.removesuffix(".weight"): shaped(loaded, name, change) for name, change in made.items()}

    return way
