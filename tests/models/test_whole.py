"""A model is all of its files: weights that were not read, adapters, tokens, and texts of any length."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import peft
import pytest
import torch
from safetensors.torch import load_file, save_file
from support.asking import saved
from support.tiny_models import TEXT, tiny_model, tiny_tokenizer
from support.writing import continued
from transformers import AutoModelForCausalLM, BertConfig, BertForMaskedLM

from factdrift.cli import main
from factdrift.core.errors import InputError
from factdrift.evaluation.methods.in_context import dense
from factdrift.models.alignment import Sentence, align
from factdrift.models.loading import load, load_checkpoint
from factdrift.models.names import check_whole
from factdrift.models.scoring import score

Weights = dict[str, torch.Tensor]
PROMPTS = [(text.rpartition(" ")[0], text.rpartition(" ")[2]) for text in TEXT]
UP = "model.layers.1.mlp.up_proj.weight"


def rewrite(folder: Path, change: Callable[[Weights], Weights], name: str = "model.safetensors") -> Path:
    kept = {key: value.clone() for key, value in change(load_file(folder / name)).items()}
    save_file(kept, folder / name, metadata={"format": "pt"})
    return folder


def without(*names: str) -> Callable[[Weights], Weights]:
    return lambda weights: {name: value for name, value in weights.items() if name not in names}


def beside(*names: str) -> Callable[[Weights], Weights]:
    return lambda weights: weights | {name: torch.ones(24) for name in names}


def prefixed(prefix: str) -> Callable[[Weights], Weights]:
    return lambda weights: {prefix + name: value for name, value in weights.items()}


LOST: dict[str, tuple[Callable[[Weights], Weights], str]] = {
    "compiled": (prefixed("_orig_mod."), r"are missing in its files \(\d\d\): lm_head\.weight, .*others"),
    "parallel": (prefixed("module."), "are missing in its files"),
    "peft": (prefixed("base_model.model."), "are missing in its files"),
    "matrix": (without(UP), rf"are missing in its files \(1\): {UP}"),
    "norm": (without("model.norm.weight"), r"are missing in its files \(1\): model\.norm\.weight"),
    "embedding": (without("model.embed_tokens.weight"), r"are missing in its files \(1\): "),
    "head": (without("lm_head.weight"), r"are missing in its files \(1\): lm_head\.weight"),
    "bias": (
        beside("model.layers.0.self_attn.q_proj.bias"),
        r"weights fit no module of its architecture \(1\)",
    ),
    "scale": (beside(f"{UP}_scale_inv"), rf"weights fit no module of its architecture \(1\): {UP}_scale_inv"),
    "block": (beside("model.layers.3.input_layernorm.weight"), "weights fit no module"),
    "nan": (
        lambda weights: weights | {UP: weights[UP] * torch.nan},
        rf"have numbers that are not finite \(1\): {UP}",
    ),
    "no prefix": (
        lambda weights: (
            {name.removeprefix("model."): value for name, value in weights.items() if "down" not in name}
            | {"layers.3.mlp.down_proj.bias": torch.ones(24)}
        ),
        r"weights are missing in its files \(3\).*weights fit no module of its architecture \(1\): layers\.3",
    ),
    "shape": (
        lambda weights: weights | {UP: torch.ones(55, 24)},
        rf"weights are of another shape than its config\.json says \(1\): {UP}",
    ),
}


@pytest.mark.parametrize("fault", LOST)
def test_weights_that_were_not_read_are_named(fault, tmp_path):
    change, said = LOST[fault]
    folder = rewrite(saved(tmp_path / "it"), change)
    for read in (lambda: load(str(folder), device="cpu"), lambda: load_checkpoint(folder, str(folder))):
        with pytest.raises(InputError, match=said):
            read()


def test_numbers_that_a_type_does_not_hold_are_refused(tmp_path):
    parts = {"up_proj.weight": 3e4, "down_proj.weight": 1 / 3e4}
    folder = rewrite(
        saved(tmp_path / "it"),
        lambda weights: {
            name: value * parts.get(name.split("mlp.")[-1], 1) for name, value in weights.items()
        },
    )
    assert load(str(folder), dtype="bfloat16").dtype == torch.bfloat16
    with pytest.raises(InputError, match=r"its logits are not finite in torch\.float16; choose bfloat16 or"):
        load(str(folder), dtype="float16")


def test_weights_that_change_nothing_are_no_fault(tmp_path):
    """Computed buffers, other heads, parts that read images; and the head of a tied model is not stored."""
    folder, tied = saved(tmp_path / "it"), tmp_path / "tied"
    shutil.copytree(folder, tied)
    before = load(str(folder)).model(torch.tensor([[1, 2]])).logits
    more = ("v_head.summary.weight", "visual.patch.weight", "model.layers.0.self_attn.rotary_emb.inv_freq")
    assert torch.equal(load(str(rewrite(folder, beside(*more)))).model(torch.tensor([[1, 2]])).logits, before)
    config = json.loads((tied / "config.json").read_text())
    (tied / "config.json").write_text(json.dumps(config | {"tie_word_embeddings": True}))
    model = load(str(rewrite(tied, without("lm_head.weight")))).model
    assert model.lm_head.weight is model.model.embed_tokens.weight


def test_two_sets_of_weights_or_an_adapter_beside_weights_are_refused(tmp_path):
    folder = saved(tmp_path / "two")
    (folder / "model.safetensors.index.json").write_text('{"weight_map": {}}')
    with pytest.raises(InputError, match=r"two sets of weights, model\.safetensors and those of model\.safe"):
        load(str(folder), device="cpu")
    folder = adapter(tmp_path / "both", "llama", target_modules=["up_proj"])
    shutil.copytree(saved(tmp_path / "base"), folder, dirs_exist_ok=True)
    for read in (check_whole, lambda name: load_checkpoint(Path(name), str(tmp_path / "base"))):
        with pytest.raises(InputError, match=r"holds a model \(model\.safetensors\) and an adapter"):
            read(str(folder))


def test_an_encoder_is_whole(tmp_path):
    torch.manual_seed(0)
    sizes: dict[str, Any] = {"hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4}
    config = BertConfig(vocab_size=len(tiny_tokenizer()), intermediate_size=32, **sizes)
    BertForMaskedLM(config).save_pretrained(tmp_path)  # its pooling layer is missing, and not run
    tiny_tokenizer().save_pretrained(tmp_path)
    assert dense(["a"], str(tmp_path), torch.device("cpu"))(["b"]).shape == (1, 1)
    name = "bert.encoder.layer.1.output.dense.weight"
    other = shutil.copytree(tmp_path, tmp_path / "other")
    with pytest.raises(InputError, match=r"are missing in its files \(1\): .*layer\.1\.output\.dense"):
        dense(["a"], str(rewrite(other, without(name))), torch.device("cpu"))


def adapter(folder: Path, family: str, **keys: Any) -> Path:
    """A random adapter for a tied model, which is in the folder `FOLDER.base`."""
    base = folder.with_suffix(".base")
    model = tiny_model(family, dtype=torch.float32, tie_word_embeddings=True).model
    model.save_pretrained(base)
    tiny_tokenizer().save_pretrained(base)
    torch.manual_seed(3)
    kind = keys.pop("kind", "LoraConfig")
    given = {"init_lora_weights": False} if kind == "LoraConfig" else {}
    adapted = peft.get_peft_model(model, getattr(peft, kind)(task_type="CAUSAL_LM", **given, **keys))
    for name, value in adapted.named_parameters():
        if value.requires_grad:
            value.data += 0.1 * torch.randn_like(value) * ("original_module" not in name)
    adapted.peft_config["default"].base_model_name_or_path = str(base)
    adapted.save_pretrained(folder)
    return folder


ADAPTED: dict[str, tuple[str, dict[str, Any]]] = {
    "head": ("llama", {"target_modules": ["lm_head"]}),
    "embedding": ("llama", {"target_modules": ["embed_tokens"]}),
    "both": ("llama", {"target_modules": ["embed_tokens", "lm_head"]}),
    "tied": ("llama", {"target_modules": ["embed_tokens", "lm_head"], "ensure_weight_tying": True}),
    "gpt2 head": ("gpt2", {"target_modules": ["lm_head"]}),
    "gpt2 embedding": ("gpt2", {"target_modules": ["wte"]}),
    "own head": ("llama", {"target_modules": ["q_proj"], "modules_to_save": ["lm_head"]}),
    "own embedding": ("llama", {"target_modules": ["q_proj"], "modules_to_save": ["embed_tokens"]}),
    "own embedding, tied": (
        "llama",
        {**{"target_modules": ["q_proj"], "modules_to_save": ["embed_tokens"]}, "ensure_weight_tying": True},
    ),
    "some tokens": ("llama", {"target_modules": ["q_proj"], "trainable_token_indices": [3, 5]}),
    "dora": ("llama", {"target_modules": ["up_proj", "lm_head"], "use_dora": True}),
    "rslora": ("gpt2", {"target_modules": ["c_proj", "wte"], "use_rslora": True}),
    "ia3": ("llama", {"kind": "IA3Config", "target_modules": ["v_proj"], "feedforward_modules": []}),
}


@pytest.mark.parametrize("kind", ADAPTED)
def test_an_adapter_gives_what_peft_gives(kind, tmp_path):
    family, keys = ADAPTED[kind]
    folder = adapter(tmp_path / "it", family, **keys)
    base = str(tmp_path / "it.base")
    ids = torch.arange(0, 40)[None]
    theirs = peft.PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(base), str(folder)).eval()
    loaded = load_checkpoint(folder, base, device="cpu")
    with torch.no_grad():
        own, plain = theirs(input_ids=ids).logits, load(base, device="cpu").model(ids).logits
        assert (loaded.model(ids).logits - own).abs().max() < 1e-4 * own.abs().max()
    assert (plain - own).abs().max() > 1e-2


def test_an_adapter_that_does_not_fit_is_refused(tmp_path):
    folder = adapter(tmp_path / "it", "llama", target_modules=["up_proj", "down_proj"])
    file, base = "adapter_model.safetensors", str(tmp_path / "it.base")

    def renamed(old: str, new: str) -> Callable[[Weights], Weights]:
        return lambda weights: {name.replace(old, new): value for name, value in weights.items()}

    for number, (change, said) in enumerate(
        {
            renamed(
                "model.layers", "language_model.layers"
            ): r"are missing in its files \(12\).*; weights fit no m",
            renamed("layers.1.", "layers.7."): r"are missing in its files \(4\): .*; weights fit no",
            lambda weights: dict(list(weights.items())[2:]): r"are missing in its files \(2\): [^;]*\.",
            beside(
                "base_model.model.model.layers.0.gate.weight"
            ): r": weights fit no module of the model \(1\)",
        }.items()
    ):
        other = shutil.copytree(folder, tmp_path / str(number))
        with pytest.raises(InputError, match=said):
            load_checkpoint(rewrite(other, change, file), base, device="cpu")


def test_an_adapter_that_cannot_be_merged_exactly_is_refused(tmp_path, monkeypatch):
    folder = adapter(tmp_path / "it", "llama", target_modules=["lm_head"])
    monkeypatch.setattr("factdrift.models.weights._untie", lambda model: None)
    with pytest.raises(InputError, match=r"cannot be merged into the weights .*: the logits differ by 0\.\d"):
        load_checkpoint(folder, str(tmp_path / "it.base"), device="cpu")


def test_the_digest_is_of_all_that_shapes_results(tmp_path, monkeypatch):
    base = saved(tmp_path / "base")

    def digest(folder: Path) -> str:
        return load(str(folder), device="cpu").digest

    def changed(name: str, text: str) -> str:
        folder = shutil.copytree(base, tmp_path / "changed", dirs_exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
        found = digest(folder)
        shutil.rmtree(folder)
        return found

    tokens = json.loads((base / "tokenizer.json").read_text(encoding="utf-8"))
    generation = json.loads((base / "generation_config.json").read_text(encoding="utf-8"))
    same = digest(base)
    assert digest(shutil.copytree(base, tmp_path / "elsewhere")) == same
    assert changed("README.md", "x") == changed("merges.txt", "x") == changed("code.py", "x") == same
    others = {
        changed("tokenizer.json", json.dumps(tokens | {"normalizer": {"type": "Lowercase"}})),
        changed("generation_config.json", json.dumps(generation | {"eos_token_id": [0, 7]})),
        changed("chat_template.jinja", "{{ messages[0].content }}"),
        changed("tokenizer.4.0.0.json", json.dumps(tokens)),  # which a version may read instead
        changed("config.json", (base / "config.json").read_text().replace("1e-06", "1e-05")),
    }
    assert len(others | {same}) == 6
    # A checkpoint is asked with the tokenizer of its base.
    folder = shutil.copytree(base, tmp_path / "made")
    first = load_checkpoint(folder, str(base), device="cpu").digest
    (base / "chat_template.jinja").write_text("{{ messages[0].content }}")
    assert load_checkpoint(folder, str(base), device="cpu").digest != first
    with pytest.raises(InputError, match="@v2: a folder or file has no revisions"):
        load(str(base), revision="v2")
    monkeypatch.setattr("factdrift.models.loading.digest_of", lambda *_: (base / "x.json").write_text("{}"))
    with pytest.raises(InputError, match="its files have changed while it was read"):
        load(str(base))


def test_a_tokenizer_has_words_and_splits_a_text_one_way(tmp_path):
    path = saved(tmp_path / "it") / "tokenizer.json"
    tokens = json.loads(path.read_text(encoding="utf-8"))
    tokens["model"]["dropout"] = 0.5
    path.write_text(json.dumps(tokens), encoding="utf-8")
    assert len({align(load(str(path.parent)).tokenizer, TEXT[0]).ids for _ in range(9)}) == 1
    # transformers would take the rules of the class, which has no normalizer, for those of the file.
    path.write_text(json.dumps(tokens | {"normalizer": {"type": "Lowercase"}}), encoding="utf-8")
    (path.parent / "tokenizer_config.json").write_text('{"tokenizer_class": "GPT2Tokenizer"}')
    tokenizer = load(str(path.parent)).tokenizer
    assert align(tokenizer, "JOE").ids == align(tokenizer, "joe").ids
    path.unlink()
    with pytest.raises(InputError, match=r"its tokenizer has no words; add its file \(tokenizer\.json\)"):
        load(str(path.parent))


@pytest.mark.parametrize("special", [True, False])
def test_tokens_beyond_the_embedding_are_no_tokens(special, tmp_path, capsys):
    base = saved(tmp_path / "base")
    folder = shutil.copytree(base, tmp_path / "more")
    tokenizer = tiny_tokenizer().__class__.from_pretrained(folder)
    tokenizer.add_tokens(["<pad>", "Zoologist"], special_tokens=special)
    tokenizer.pad_token = "<pad>" if special else tokenizer.pad_token
    tokenizer.save_pretrained(folder)
    rows = len(tiny_tokenizer())
    if not special:
        said = rf"has {rows} rows, and 2 entries .*'Zoologist' \({rows + 1}"
        for read in (load, lambda name: load_checkpoint(folder, name, device="cpu")):
            with pytest.raises(InputError, match=said):
                read(str(folder))
        assert main(["models", "describe", str(folder)]) == 1
        return
    loaded, plain = load(str(folder), device="cpu"), load(str(base), device="cpu")
    assert f"'<pad>' ({rows}), 'Zoologist' ({rows + 1}) are no tokens of the model" in capsys.readouterr().err
    texts = [align(one.tokenizer, "A <pad> and a Zoologist", "Zoologist <pad>") for one in (loaded, plain)]
    assert texts[0] == texts[1]
    assert score(loaded, texts).logprob[0] == score(plain, texts).logprob[0]
    assert main(["models", "describe", str(folder)]) == 0
    assert f"fast, {rows + 2} entries, 2 of them without a row" in capsys.readouterr().out


def long_rope(kind: str) -> Any:
    """A model whose rotary frequencies change for long texts: from 32 tokens on, or with 64 positions."""
    rope: dict[str, Any] = {"rope_theta": 10000.0, "rope_type": kind, "factor": 4.0}
    if kind == "longrope":
        rope |= {"short_factor": [1.0] * 3, "long_factor": [2.0, 4.0, 9.0]}
        rope |= {"original_max_position_embeddings": 32}
        own = {"original_max_position_embeddings": 32}
        return tiny_model("phi3", dtype=torch.float32, positions=128, rope_parameters=rope, **own)
    return tiny_model("llama", dtype=torch.float32, positions=64, rope_parameters=rope)


@pytest.mark.parametrize("kind", ["longrope", "dynamic"])
def test_no_text_depends_on_the_length_of_others(kind):
    loaded = long_rope(kind)
    most = loaded.spec.positions
    assert most == {"longrope": 32, "dynamic": 64}[kind]
    short, long = ((*range(5, 5 + length), 9) for length in (6, most))
    sentences = [Sentence(ids, None, len(ids) - 1) for ids in (short, long)]
    together = score(loaded, sentences).logprob
    alone = [score(loaded, [one]).logprob[0] for one in sentences]
    assert abs(together - alone).max() < 1e-5
    with pytest.raises(InputError, match=f"takes texts of {most} tokens, and one has {most + 2}"):
        score(loaded, [Sentence((*long, 9), None, most)])
    # The row that has ended stays beside the others; a position of its own must not change theirs.
    rows = [list(range(5, 5 + most - 3)), [3, 4], [7, 8]]
    wanted = [3, 20, 20]
    by_itself = [continued(loaded, [rows[place]], [wanted[place]])[0] for place in range(3)]
    assert continued(loaded, rows, wanted) == by_itself
