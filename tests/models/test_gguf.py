"""GGUF files as models: what is read, what is refused by name, and folders that are made of them."""

import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from gguf import GGMLQuantizationType, quants
from support.gguf_files import ARCHITECTURES, gguf_model, write_gguf
from transformers import AutoModelForCausalLM

from factdrift.cli import main
from factdrift.core.errors import InputError, Unsupported
from factdrift.models.loaded import Loaded
from factdrift.models.loading import load, read_config
from factdrift.models.names import read_sizes

PREFIX = "tokenizer.ggml.add_space_prefix"
TEXTS = (
    "The capital of Atlantis is Poseidonis, not New Orleans; it's by the sea of Zoë Müller in 1984.",
    "Joe Biden lives",
)


def logits(model: Any, loaded: Loaded, text: str) -> Any:
    with torch.inference_mode():
        return model(torch.tensor([loaded.tokenizer(text)["input_ids"]])).logits


def assert_same(one: Any, other: Any, loaded: Loaded, bound: float = 1e-4) -> None:
    for text in TEXTS:
        ours, its = logits(one, loaded, text), logits(other, loaded, text)
        assert (ours - its).abs().max() <= bound
        assert its.abs().max() > 1


def rounded(loaded: Loaded, kind: str) -> Any:
    """The model with its matrices as numbers of this type have them; queries are permuted by whole rows."""
    form = GGMLQuantizationType[kind]
    for weight in loaded.model.parameters():
        if weight.ndim == 2:
            packed = quants.quantize(weight.numpy(), form)
            weight.data = torch.from_numpy(quants.dequantize(packed, form).copy()).reshape(weight.shape)
    return loaded.model


@pytest.mark.parametrize("kind", ["F32", "F16", "Q8_0", "Q4_1"])
@pytest.mark.parametrize("family", ARCHITECTURES)
def test_logits_are_those_of_the_model_and_tokens_those_of_its_tokenizer(family, kind, tmp_path, capsys):
    made = gguf_model(family)
    path = write_gguf(tmp_path / "tiny.gguf", made, kind)
    loaded = load(str(path), device="cpu")
    said = "not quantized" if kind in ("F32", "F16") else kind
    assert f"weights are computed from those of a GGUF file ({said})" in capsys.readouterr().err
    for text in TEXTS:
        assert loaded.tokenizer(text)["input_ids"] == made.tokenizer(text)["input_ids"]
    assert loaded.dtype == loaded.model.dtype == torch.float32
    assert_same(loaded.model, rounded(made, kind) if kind != "F32" else made.model, made)
    assert read_sizes(str(path)) == (3, 32)
    assert loaded.spec.family == {"mistral": "llama"}.get(family, family)


@pytest.mark.parametrize("family", ["llama", "mistral", "qwen2", "phi3"])
def test_logits_are_those_of_transformers_where_it_reads_all(family, tmp_path):
    made = gguf_model(family)
    path = write_gguf(tmp_path / "tiny.gguf", made, "Q4_1")
    its = AutoModelForCausalLM.from_pretrained(tmp_path, gguf_file=path.name, dtype=torch.float32)
    assert_same(load(str(path), device="cpu").model, its, made)


def llama3(factor: float) -> tuple[dict[str, Any], list[float]]:
    """Rotary frequencies as of Llama 3.1, and their divisors by llama.cpp's converter."""
    divisors = []
    for i in range(4):
        length = 2 * torch.pi * 500000.0 ** (i / 4)
        smooth = (8192 / length - 1) / 3
        middle = 1 / ((1 - smooth) / factor + smooth)
        divisors.append(1.0 if length < 8192 / 4 else factor if length > 8192 else middle)
    rope = {"rope_type": "llama3", "rope_theta": 500000.0, "factor": factor, "low_freq_factor": 1.0}
    return rope | {"high_freq_factor": 4.0, "original_max_position_embeddings": 8192}, divisors


def test_rotary_divisors_caps_and_the_scale_of_large_models_are_read(tmp_path):
    rope, divisors = llama3(8.0)
    assert divisors[:2] == [1, 1] < divisors[2:3] < [8] == divisors[3:]
    made = gguf_model("llama", rope_parameters=rope)
    path = write_gguf(tmp_path / "llama.gguf", made, more={"rope_freqs.weight": divisors})
    loaded = load(str(path), device="cpu")
    assert_same(loaded.model, made.model, made)
    assert {key: loaded.model.config.rope_parameters[key] for key in rope} == rope
    path = write_gguf(tmp_path / "x.gguf", made, more={"rope_freqs.weight": [1, 2, 3, 4]})
    with pytest.raises(Unsupported, match=r"divisors of its rotary frequencies.*none of Llama 3's"):
        load(str(path))
    caps = {"attn_logit_softcapping": 3.0, "final_logit_softcapping": 2.0}
    made = gguf_model("gemma2", **caps)
    assert_same(load(str(write_gguf(tmp_path / "gemma.gguf", made)), device="cpu").model, made.model, made)
    for family, blocks in (("gemma2", 46), ("gemma3_text", 62)):
        name = ARCHITECTURES[family]
        for count, scale in ((blocks, 64 // 4), (blocks - 1, 8)):
            sizes = {f"{name}.block_count": count, f"{name}.embedding_length": 64}
            path = write_gguf(tmp_path / "large.gguf", gguf_model(family), values=sizes)
            assert read_config(str(path))[0].query_pre_attn_scalar == scale


def test_digits_stand_alone_where_the_file_says_so(tmp_path):
    made = gguf_model("llama")
    for pre, parts in (("gpt-2", ["in", "Ġ1984"]), ("smollm", ["in", "Ġ", *"1984"])):
        path = write_gguf(tmp_path / f"{pre}.gguf", made, values={"tokenizer.ggml.pre": pre})
        core = load(str(path), device="cpu").tokenizer.backend_tokenizer
        assert [part for part, _ in core.pre_tokenizer.pre_tokenize_str("in 1984")] == parts


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"general.architecture": "mamba"}, "its architecture is 'mamba', and none of llama, qwen2, qwen3"),
        ({"general.architecture": "qwen2moe"}, "its architecture is 'qwen2moe'"),
        ({"tokenizer.ggml.pre": "poro-chat"}, "its text is split as 'poro-chat'"),
        (
            {"llama.rope.scaling.type": "yarn", "llama.rope.scaling.factor": 4.0},
            "its rotary frequencies are scaled as 'yarn'",
        ),
        ({"llama.rope.scaling.factor": 2.0}, "its rotary frequencies are scaled as 'linear'"),
        ({"llama.rope.scale_linear": 2.0}, "its rotary frequencies are scaled as 'linear'"),
        ({"llama.attention.head_count_kv": 0}, r"it has no attention\.head_count_kv, so that"),
        ({"llama.rope.dimension_count": 4}, r"its rope\.dimension_count is 4, so that"),
        ({"tokenizer.ggml.model": "llama", PREFIX: False}, "it begins a text otherwise than other files"),
        ({"llama.logit_scale": 8.0}, r"its logit_scale is 8\.0, so that"),
    ],
)
def test_what_would_be_read_wrongly_is_refused_by_name(values, message, tmp_path):
    path = write_gguf(tmp_path / "tiny.gguf", gguf_model("llama"), values=values)
    with pytest.raises(Unsupported, match=message) as caught:
        load(str(path))
    assert str(caught.value).startswith(f"models: {path}: ")
    assert "give the folder of the model from which the file was made" in str(caught.value)


def cut(size: int) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(path.read_bytes()[:size])


def of_type(number: int) -> Callable[[Path], object]:
    """Writes another type into the entry of a matrix: name, dimensions, their sizes, type."""

    def change(path: Path) -> None:
        data = bytearray(path.read_bytes())
        start = data.index(b"blk.0.attn_q.weight") + len(b"blk.0.attn_q.weight") + 4 + 16
        assert struct.unpack_from("<I", data, start) == (0,)
        struct.pack_into("<I", data, start, number)
        path.write_bytes(data)

    return change


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (lambda path: path.unlink(), "no such file|cannot be read"),
        (lambda path: path.write_bytes(b""), "no whole GGUF file.*get it again"),
        (lambda path: path.write_text("A text.\n" * 99), "no whole GGUF file.*get it again"),
        (lambda path: shutil.copyfile(__file__, path), "no whole GGUF file.*get it again"),
        (cut(3), "no whole GGUF file.*get it again"),
        (cut(300), "no whole GGUF file.*get it again"),
        (cut(-40_000), "no whole GGUF file.*get it again"),
        (cut(-1), "no whole GGUF file.*get it again"),
        (of_type(99), "no whole GGUF file.*99.*get it again"),
    ],
)
def test_a_damaged_file_is_named(harm, message, tmp_path):
    path = write_gguf(tmp_path / "tiny.gguf", gguf_model("llama"))
    harm(path)
    with pytest.raises(InputError, match=message) as caught:
        load(str(path))
    assert str(path) in str(caught.value)


def test_a_type_that_nothing_reads_is_named(tmp_path):
    path = write_gguf(tmp_path / "tiny.gguf", gguf_model("llama"), "Q8_1")
    with pytest.raises(InputError, match=r"tiny\.gguf .*Q8_1"):
        load(str(path))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"without": ["blk.1.attn_q.weight"]}, r"missing in its files \(1\): model\.layers\.1\.self_attn\.q"),
        ({"more": {"blk.0.extra.weight": [1.0]}}, r"fit no module .*\(1\): blk\.0\.extra\.weight"),
        ({"more": {"blk.9.ffn_norm.weight": [1.0]}}, r"fit no module .*\(1\): blk\.9\.ffn_norm\.weight"),
        ({"values": {"llama.block_count": 2}}, r"fit no module .*\(9\): blk\.2\."),
        ({"values": {"llama.feed_forward_length": 96}}, "of another shape"),
    ],
)
def test_a_tensor_too_few_or_too_many_is_named(options, message, tmp_path):
    path = write_gguf(tmp_path / "tiny.gguf", gguf_model("llama"), **options)
    with pytest.raises(InputError, match=message):
        load(str(path))


def test_the_digest_is_of_the_bytes_and_the_description_names_the_types(tmp_path, capsys):
    path = write_gguf(tmp_path / "tiny.gguf", gguf_model("llama"), "Q4_1")
    other = tmp_path / "folder" / "other.GGUF"
    other.parent.mkdir()
    shutil.copyfile(path, other)
    # Nothing beside the file is read.
    (other.parent / "config.json").write_text("{}", encoding="utf-8")
    one, same = (load(str(name), device="cpu") for name in (path, other))
    assert one.digest == same.digest
    assert (one.name, same.name) == (str(path), str(other))
    ends = {"tokenizer.ggml.eos_token_id": 5, "tokenizer.ggml.eot_token_id": 6}
    chat = write_gguf(tmp_path / "chat.gguf", gguf_model("llama"), values=ends)
    assert load(str(chat), device="cpu").model.generation_config.eos_token_id == [5, 6]
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    assert load(str(path), device="cpu").digest != one.digest
    capsys.readouterr()
    assert main(["models", "describe", str(path)]) == 0
    assert "computed from those of a GGUF file (Q4_1)" in capsys.readouterr().out
