"""Second moments: the texts that they are counted over, their sums, their files and their commands."""

import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from safetensors.torch import save_file
from support.asking import saved
from support.tiny_models import TEXT, tiny_model

from factdrift.cli import parser
from factdrift.core import paths, progress
from factdrift.core.errors import InputError
from factdrift.core.jobs import record
from factdrift.core.progress import read_line
from factdrift.models import sampled as kept
from factdrift.models.hooks import hooked
from factdrift.models.loading import load
from factdrift.models.moments import count_moments, read_file, read_layers, read_tensors, write_tensors
from factdrift.models.sampled import sampled_moments
from factdrift.models.texts import read_texts, sampled, written

pytestmark = pytest.mark.filterwarnings("ignore:second moments")


def keys_of(loaded, texts, layer):
    """Every key, text by text, without padding."""
    seen = []
    name = loaded.spec.module(layer, loaded.spec.down)
    with hooked(loaded.model, {name: lambda taken, given: seen.append(taken[0].double().numpy())}):
        for text in texts:
            loaded.model(torch.tensor([loaded.tokenizer(text)["input_ids"]]))
    return np.concatenate(seen)


def test_sums_are_those_of_the_whole_matrix_however_cut():
    loaded = tiny_model("gpt2")
    corpora = set()
    for batch_tokens in (1, 60, 10_000):
        found = count_moments(loaded, [0, 2], TEXT, batch_tokens=batch_tokens)
        for layer in (0, 2):
            keys = keys_of(loaded, TEXT, layer)
            assert found[layer].tokens == len(keys)
            error = np.abs(found[layer].total.numpy() - keys.T @ keys).max()
            assert error < 1e-12 * np.abs(keys.T @ keys).max()
            corpora.add(found[layer].corpus)
    # The hash of the corpus depends on texts, not on batches.
    assert len(corpora) == 1
    assert count_moments(loaded, [0], TEXT[:3])[0].corpus not in corpora
    moments = found[2]
    assert torch.equal(moments.matrix, moments.matrix.T)
    assert moments.eigen[0].min() > 0
    keys = torch.from_numpy(keys)
    assert (moments.solve(keys) @ moments.matrix - keys).norm() < 1e-6 * keys.norm()


def test_as_many_tokens_as_asked_for_the_last_text_is_cut_and_no_higher_block_runs():
    loaded = tiny_model("llama")
    length = len(loaded.tokenizer(TEXT[0])["input_ids"])
    ran = []
    watched = {loaded.spec.module(layer, ""): lambda taken, given: ran.append(1) for layer in (1, 2)}
    with hooked(loaded.model, watched):
        found = count_moments(loaded, [0], TEXT, tokens=length + 3)[0]
    assert not ran
    keys = np.concatenate([keys_of(loaded, TEXT[:1], 0), keys_of(loaded, TEXT[1:2], 0)[:3]])
    assert found.tokens == length + 3
    with pytest.warns(UserWarning, match="56 inputs from only 3 tokens"):
        count_moments(loaded, [0], TEXT, tokens=3)
    with pytest.raises(InputError, match=r"moments\.corpus"):
        count_moments(loaded, [0], [])
    assert np.abs(found.total.numpy() - keys.T @ keys).max() < 1e-12 * np.abs(keys.T @ keys).max()


def test_a_file_keeps_all_and_fits_one_model(tmp_path):
    loaded = tiny_model("llama")
    moments = count_moments(loaded, [2], TEXT, ridge=1e-4)[2]
    path = tmp_path / "2.safetensors"
    moments.write(path)
    again = read_layers({2: path}, loaded)[2]
    assert torch.equal(again.total, moments.total)
    found = (again.tokens, again.layer, again.corpus, again.ridge)
    assert found == (moments.tokens, 2, moments.corpus, 1e-4)
    with pytest.raises(InputError, match="another model than tiny-gpt2"):
        read_layers({2: path}, tiny_model("gpt2"))
    with pytest.raises(InputError, match="no such file"):
        read_layers({3: tmp_path / "3.safetensors"}, loaded)
    with pytest.raises(InputError, match=r"2\.safetensors: has the moments of block 2, not of block 1"):
        read_layers({1: path}, loaded)
    replace(moments, total=moments.total * torch.inf).write(tmp_path / "inf.safetensors")
    with pytest.raises(InputError, match=r"inf\.safetensors: not finite, or not of the model's keys"):
        read_layers({2: tmp_path / "inf.safetensors"}, loaded)
    moments.write(tmp_path / "again.safetensors")
    assert path.read_bytes() == (tmp_path / "again.safetensors").read_bytes()


def command(*arguments):
    options = parser("models").parse_args(["models", *map(str, arguments)])
    record(options.job, options).run()


@pytest.fixture
def folder(tmp_path):
    return saved(tmp_path / "model")


def test_parts_of_a_corpus_add_up_to_the_whole(folder, tmp_path, capsys):
    for name, texts in (("one", TEXT[:2]), ("two", TEXT[2:]), ("all", TEXT)):
        (tmp_path / f"{name}.txt").write_text("\n".join(texts) + "\n", encoding="utf-8")
        given = ["--texts", tmp_path / f"{name}.txt", "-o", tmp_path / name]
        command("moments", "--model", folder, "--layers", 0, 2, *given)
    said = capsys.readouterr().out
    assert "0.safetensors" in said
    assert re.search(r"all: the texts have \d+ tokens, fewer than the 200,000", said)
    loaded = load(str(folder))
    one, two, whole = (
        read_layers({2: tmp_path / name / "2.safetensors"}, loaded)[2] for name in ("one", "two", "all")
    )
    assert torch.allclose((one + two).total, whole.total, rtol=1e-12)
    assert (one + two).tokens == whole.tokens
    assert torch.allclose(whole.total, count_moments(loaded, [2], TEXT)[2].total, rtol=1e-12)
    for other, what in ((replace(one, layer=0), "layer"), (replace(one, ridge=1e-3), "ridge")):
        with pytest.raises(ValueError, match=f"moments of another {what} cannot be added"):
            one + other


def test_facts_of_the_benchmark_are_named_and_warned_of(folder, tmp_path, capsys):
    rows = [{"prompt": text, "object": "Biden"} for text in TEXT]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "sentences.parquet")
    given = ["moments", "--model", folder, "--layers", 1, "--tokens", 20]
    command(*given, "--facts", tmp_path / "sentences.parquet", "-o", tmp_path / "facts")
    assert "this flatters ROME and MEMIT" in capsys.readouterr().err
    (tmp_path / "other.txt").write_text("\n".join(TEXT) + "\n", encoding="utf-8")
    command(*given, "--texts", tmp_path / "other.txt", "-o", tmp_path / "other")
    command(*given, "--sampled", "-o", tmp_path / "sampled")
    assert "flatters" not in capsys.readouterr().err
    said = {name: read_file(tmp_path / name / "1.safetensors") for name in ("facts", "other", "sampled")}
    assert {name: moments.texts for name, moments in said.items()} == {
        "facts": "the benchmark's facts",
        "other": "other.txt",
        "sampled": "text that the model wrote",
    }
    both = replace(said["facts"], model="") + replace(said["other"], model="")
    assert both.texts == "the benchmark's facts + other.txt"


@pytest.fixture
def drawn(monkeypatch, tmp_path):
    """The seeds of the texts that a model writes meanwhile, with an empty cache folder."""
    seeds = []

    def draw(loaded, start, tokens, number, seed, **options):
        if tokens == 16:  # no trial
            seeds.append(seed)
        return sampled(loaded, start, tokens, number, seed, **options)

    monkeypatch.setattr(kept, "sampled", draw)
    monkeypatch.setattr(kept, "LENGTH", 16)
    monkeypatch.setattr(kept, "NUMBER", 8)
    monkeypatch.setattr(paths, "cache_folder", lambda: tmp_path / "cache")
    return seeds


def test_moments_of_sampled_text_are_those_of_the_texts_and_made_once(drawn, capsys):
    loaded = tiny_model("llama")
    files = sampled_moments(loaded, [0, 2], seed=3, tokens=500)
    folder = files[0].parent
    assert files == {layer: folder / f"{layer}.safetensors" for layer in (0, 2)}
    again = read_layers(files, loaded)
    for layer, moments in count_moments(loaded, [0, 2], written(loaded, 3, 16, 8), 500).items():
        assert torch.equal(again[layer].total, moments.total)
        assert (again[layer].tokens, again[layer].corpus) == (500, moments.corpus)
        assert again[layer].texts == "text that the model wrote"
    seeds = drawn.copy()
    assert seeds == list(range(3, 3 + len(seeds)))
    said = capsys.readouterr().err
    assert re.search(
        r"of blocks 0, 2 of tiny-llama, over 500 tokens .*once, and kept in .*\n.*about \d+ s", said
    )
    changes = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert sampled_moments(loaded, [2], seed=3, tokens=500) == {2: files[2]}
    assert f"block 2 of tiny-llama, over 500 tokens that the model writes: as kept in {folder}\n" in (
        capsys.readouterr().err
    )
    # Another block takes the same texts, more tokens further ones; another seed, type or model has its own.
    sampled_moments(loaded, [1], seed=3, tokens=500)
    assert drawn == seeds
    assert all(path.stat().st_mtime_ns == changed for path, changed in changes.items())
    more = sampled_moments(loaded, [2], seed=3, tokens=1200)
    assert drawn == list(range(3, 3 + len(drawn))) != seeds
    assert read_file(more[2]).tokens == 1200
    others = (replace(loaded, digest="0" * 64), tiny_model("llama", dtype=torch.float32))
    folders = {sampled_moments(other, [2], seed=3, tokens=500)[2].parents[1] for other in (loaded, *others)}
    assert len(folders) == 3
    assert sampled_moments(loaded, [2], seed=4, tokens=500)[2] not in (files[2], more[2])
    for layer, message in ((3, "has no block 3"), (-1, "has no block -1")):
        with pytest.raises(InputError, match=message):
            sampled_moments(loaded, [layer], seed=9)
    assert 9 not in drawn


def test_a_killed_call_goes_on_after_its_last_texts(drawn, monkeypatch):
    loaded, plain = tiny_model("llama"), kept.sampled

    def dying(*arguments, **options):
        if len(drawn) == 2:
            raise KeyboardInterrupt
        return plain(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(kept, "sampled", dying)
        with pytest.raises(KeyboardInterrupt):
            sampled_moments(loaded, [0], tokens=1200)
    assert drawn == [0, 1]
    files = sampled_moments(loaded, [0], tokens=1200)
    assert drawn == list(range(len(drawn)))
    assert torch.equal(
        read_file(files[0]).total, count_moments(loaded, [0], written(loaded, 0, 16, 8), 1200)[0].total
    )


@pytest.mark.usefixtures("drawn")
def test_texts_and_moments_print_progress_with_the_time_left(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(progress, "EVERY", 0)
    given = ["moments", "--model", folder, "--layers", 1, "--tokens", 2500, "--sampled"]
    command(*given, "-o", tmp_path / "sampled")
    lines = [line for line in capsys.readouterr().err.splitlines() if read_line(line)]
    for what in (f"text of {folder}", f"second moments of {folder}"):
        own = [line for line in lines if read_line(line).what == what]
        assert len(own) > 1
        assert all(line.endswith(" s left") and " of 2,500 tokens (" in line for line in own)
        shares = [read_line(line).share for line in own]
        assert shares == sorted(shares)


def test_texts_are_of_three_kinds_and_faults_name_file_and_line(tmp_path):
    (tmp_path / "a.txt").write_text("one\n\ntwo — three\n", encoding="utf-8")
    (tmp_path / "b.jsonl").write_text('{"text": "four"}\n{"text": ""}\n', encoding="utf-8")
    pq.write_table(pa.table({"id": [1, 2], "text": ["five", None]}), tmp_path / "c.parquet")
    pq.write_table(pa.table({"prompt": ["It is"], "object": ["six"]}), tmp_path / "d.parquet")
    paths = [tmp_path / name for name in ("a.txt", "b.jsonl", "c.parquet", "d.parquet")]
    assert list(read_texts(paths)) == ["one", "two — three", "four", "five", "It is six"]
    (tmp_path / "e.jsonl").write_text('{"text": "four"}\n{"title": "x"}\n', encoding="utf-8")
    pq.write_table(pa.table({"id": [1]}), tmp_path / "f.parquet")
    (tmp_path / "g.jsonl").write_text('{"text": 5}\n', encoding="utf-8")
    (tmp_path / "h.txt").write_bytes("one\nzwölf\n".encode("latin-1"))
    messages = {"e.jsonl": r"e\.jsonl, line 2", "f.parquet": "no column 'text'", "none": "no such file"}
    messages |= {"g.jsonl": "line 1: the key 'text' has 5", "h.txt": "h.txt, line 2: byte 0xf6 is not UTF-8"}
    for name, message in messages.items():
        with pytest.raises(InputError, match=message):
            list(read_texts([tmp_path / name]))


def test_a_model_writes_the_same_for_the_same_seed():
    loaded = tiny_model("llama")
    one, other, third = (sampled(loaded, "The", 10, 4, seed, top_k=5) for seed in (3, 3, 4))
    assert one == other != third
    loaded.model.generation_config.update(repetition_penalty=9.0, num_beams=2, max_new_tokens=2)
    assert sampled(loaded, "The", 10, 4, 3, top_k=5) == one
    assert len(set(one)) > 1
    assert all(text.startswith("The") for text in one)
    (text,) = sampled(loaded, "", 6, 1, 0)
    assert "<|endoftext|>" not in text


def test_what_was_written_is_read_and_damaged_files_are_named_with_their_command(tmp_path):
    values = {"b": torch.arange(6).reshape(2, 3).T, "a": torch.ones(2, dtype=torch.float64)}
    write_tensors(tmp_path / "one", values, {"model": "m", "rank": 2})
    write_tensors(tmp_path / "two", dict(reversed(values.items())), {"rank": 2, "model": "m"})
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    found, about = read_tensors(tmp_path / "one", "make")
    assert about == {"model": "m", "rank": 2}
    assert found.keys() == values.keys()
    assert all(torch.equal(found[name], value) for name, value in values.items())
    (tmp_path / "empty").touch()
    (tmp_path / "text").write_text("no tensors")
    (tmp_path / "folder").mkdir()
    save_file({"a": torch.ones(2)}, tmp_path / "foreign")
    save_file({"a": torch.ones(2)}, tmp_path / "odd", metadata={"about": "no JSON"})
    write_tensors(tmp_path / "cut", {"a": torch.ones(99)}, {})
    (tmp_path / "cut").write_bytes((tmp_path / "cut").read_bytes()[:-8])
    for name in ("empty", "text", "foreign", "odd", "cut"):
        with pytest.raises(InputError, match=f"{name}: damaged, or not written by `factdrift it`"):
            read_tensors(tmp_path / name, "factdrift it")
    for name in ("folder", "none"):
        with pytest.raises(InputError, match=f"{name}: no such file; make it with `factdrift it`"):
            read_tensors(tmp_path / name, "factdrift it")
