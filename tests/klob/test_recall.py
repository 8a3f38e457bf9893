"""The recall filter, with models that always, never and sometimes answer, and with a real small model."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs
from support.byte_tokenizer import tokenizer_of
from support.worlds import Fact

from factdrift.cli import main
from factdrift.core.errors import InputError
from factdrift.klob.recall import DEMONSTRATIONS, CausalModel, matches, read_demonstrations, write_recall

from .conftest import Built, Snapshot, rows

FACTS = [Fact(number, 36, 100 + number) for number in range(1, 15)]
CHAINS = [Fact(20 + number, 17, number) for number in range(1, 15)]
WORLD = Snapshot([*FACTS, *CHAINS], labels={100 + n: f"Town {n}" for n in range(1, 15)})


class Stub(CausalModel):
    """Answers what a function says to the sentence that a prompt ends with."""

    name, revision, dtype = "stub", "1", "float32"

    def __init__(self, answer: Callable[[str], str]):
        self.answer = answer
        self.asked: list[str] = []

    def continued(self, prompts: Sequence[str]) -> list[str]:
        self.asked += prompts
        return [self.answer(prompt.split("\n")[-1]) for prompt in prompts]


def answers(found: Built) -> dict[str, str]:
    return {row["text"]: row["target_label"] for row in found.sentences if row["target_label"]}


def ask(found: Built, model: CausalModel, need: str = "all", given: Mapping[int, str] | None = None) -> Path:
    plan = found.plan._replace(settings=structs.replace(found.plan.settings, need=need))
    outputs = (found.folder / "klob_recall.parquet", found.folder / "passes.parquet")
    write_recall(plan, given or {}, model, outputs, 2000, 1)
    return outputs[1]


def test_a_model_that_always_answers_changes_nothing(built):
    """Its prompts show other facts with the same template."""
    plain = built(WORLD, min_sitelinks=0, folder="plain")
    known = answers(plain)
    model = Stub(lambda text: f" {known[text]}.\nMore")
    passes = ask(plain, model)
    filtered = built(WORLD, min_sitelinks=0, folder="filtered", passes=passes)
    for before, after in zip(plain.examples, filtered.examples, strict=True):
        assert after == before | {"recall_pass": None if after["subtask"] == "u" else True}
    assert plain.sentences == filtered.sentences
    table = rows(plain.folder / "klob_recall.parquet")
    assert [row["sentence_id"] for row in table] == sorted(
        row["sentence_id"] for row in plain.sentences if row["subtask"] != "u"
    )
    assert {(row["model"], row["revision"], row["dtype"], row["matched"]) for row in table} == {
        ("stub", "1", "float32", True)
    }
    assert {row["output"] for row in table} == {f"{label}." for label in known.values()}
    sentences = {row["sentence_id"]: row for row in plain.sentences}
    subjects = {row["example_id"]: row["s"] for row in plain.examples}
    prompts = {hashlib.sha256(prompt.encode()).hexdigest(): prompt for prompt in model.asked}
    for row in table:
        mine = sentences[row["sentence_id"]]
        demos = [sentences[name] for name in row["demo_ids"]]
        lines = prompts[row["prompt_sha256"]].split("\n")
        assert lines == [f"{demo['text']} {demo['target_label']}" for demo in demos] + [mine["text"]]
        assert len(demos) == DEMONSTRATIONS
        for demo in demos:
            assert demo["template_id"] == mine["template_id"]
            assert demo["target_id"] != mine["target_id"]
            assert subjects[demo["example_id"]] != subjects[mine["example_id"]]


@pytest.mark.slow
def test_how_many_wordings_are_needed(built):
    """The first wording of three is the only one that is known, or that is not."""
    plain = built(WORLD, min_sitelinks=0, folder="plain")
    known = answers(plain)
    first = {row["text"] for row in plain.sentences if row["place"] == 1 and row["role"] == "expr"}
    for knows_first, need, facts, chains in (
        (False, "all", 0, 0),
        (False, "majority", 28, 14),
        (True, "majority", 0, 0),
        # The chain's own sentence must be known in any case, and is not.
        (True, "any", 28, 0),
    ):
        model = Stub(lambda text, wanted=knows_first: known[text] if (text in first) == wanted else "?")
        filtered = built(WORLD, min_sitelinks=0, folder="filtered", passes=ask(plain, model, need))
        assert (len(filtered.subtask("c")), len(filtered.subtask("r"))) == (facts, chains)
        dropped = [filtered.meta["dropped"][name].get("recall", 0) for name in "cr"]
        assert dropped == [28 - facts, 14 - chains]


def test_the_quota_is_filled_with_what_is_known(built):
    numbers = range(1, 300)
    facts = [Fact(number, 36, 1000 + number) for number in numbers]
    world = Snapshot(facts, labels={1000 + number: f"Town {number}" for number in numbers})
    plain = built(world, min_sitelinks=0, folder="plain", seed=5)
    known = answers(plain)
    odd = {text: label for text, label in known.items() if int(label.split()[1]) % 2}
    limited = replace(plain, plan=plain.plan._replace(quotas={36: 10}))
    passes = ask(limited, Stub(lambda text: odd.get(text, "?")))
    filtered = built(world, min_sitelinks=0, folder="filtered", passes=passes, quotas={36: 10}, seed=5)
    order = sorted(numbers, key=lambda n: hashlib.sha256(f"5|Q{n}|P36|Q{1000 + n}".encode()).hexdigest())
    wanted = [f"Q{number}" for number in order if number % 2][:10]
    assert sorted(row["s"] for row in filtered.subtask("c")) == sorted(wanted)
    # It stopped when the quota was full.
    assert len(rows(passes)) == 64
    dropped = filtered.meta["dropped"]["c"]
    assert dropped["recall"] == sum(not row["recall_pass"] for row in rows(passes))
    assert dropped["recall"] + dropped["quota"] == 289


def test_what_is_known_fills_the_quota_within_the_share_of_an_answer(built):
    """One answer has most facts, so that more must be asked about than the quota."""
    facts = [Fact(number, 17, 1000 if number % 5 else 1000 + number) for number in range(1, 200)]
    labels = {1000 + number: f"Land {number}" for number in range(200)}
    world = Snapshot(facts, labels=labels)
    limits = {"quotas": {17: 16}, "max_answer_share": 0.25}
    plain = built(world, min_sitelinks=0, folder="plain", **limits)
    known = answers(built(world, min_sitelinks=0, folder="whole", quotas={17: None}))
    passes = ask(plain, Stub(lambda text: known[text]))
    filtered = built(world, min_sitelinks=0, folder="filtered", passes=passes, **limits)
    assert len(rows(passes)) < len(facts)
    assert [row["s"] for row in filtered.subtask("c")] == [row["s"] for row in plain.subtask("c")]
    assert len(filtered.subtask("c")) == 16


def test_the_share_of_a_pair_is_exact(built):
    """0.29 of 100 are 29, which binary fractions miss: 28 known chains of the first 64 are not enough."""
    facts = [Fact(1, 36, 1000), *(Fact(number, 17, 1) for number in range(2, 200))]
    plain = built(Snapshot(facts), min_sitelinks=0, max_pair_share=0.29, r_quota=100, quotas={17: 0})
    order = sorted(
        range(2, 200), key=lambda n: hashlib.sha256(f"0|Q{n}|P17|Q1|P36|Q1000".encode()).hexdigest()
    )
    unknown = {f"item {number}" for number in order[28:64]}
    whole = built(Snapshot(facts), min_sitelinks=0, folder="whole", quotas={17: None})
    known = answers(whole)
    model = Stub(lambda text: "?" if any(f"{name} " in f"{text} " for name in unknown) else known[text])
    assert len(rows(ask(plain, model))) == 128


def test_chains_of_rare_pairs_are_shown_others_that_end_alike(built):
    world = Snapshot([*FACTS, *CHAINS[:9], Fact(60, 495, 14), Fact(61, 495, 13)], labels=WORLD.labels)
    plain = built(world, min_sitelinks=0, folder="plain")
    known = answers(plain)
    ask(plain, Stub(lambda text: known[text]))
    sentences = {row["sentence_id"]: row for row in plain.sentences}
    demos = {
        sentences[row["sentence_id"]]["text"]: [sentences[name]["template_id"] for name in row["demo_ids"]]
        for row in rows(plain.folder / "klob_recall.parquet")
    }
    assert demos["The capital of the country of origin of item 60 is"] == ["P495>P36"] + ["P17>P36"] * 7
    assert len(demos["By origin, item 60 comes from"]) == 1


@pytest.mark.parametrize(
    ("output", "wanted", "matched"),
    [
        (" paris, of course", ["Paris"], True),
        ("Parisian cafés", ["Paris"], False),
        ("The Hague", ["Hague"], True),
        ("Hague", ["The Hague"], True),
        ('"the  United\tStates of America"', ["United States of America"], True),
        ("U.S.", ["USA", "U.S."], True),
        ("It is Paris", ["Paris"], False),
        ("ﬁnland", ["Finland"], True),
        ("STRASSE", ["Straße"], True),
        ("", ["Paris"], False),
        ("Paris", ["", "..."], False),
        ("  “The Beatles”! ", ["Beatles"], True),
        ("- ( Paris ) .", ["Paris"], True),
        ("Paris", ["( Paris )"], True),
        ("the", ["The"], True),
        ("A-ha", ["ha"], False),
        ("東京です", ["東京"], False),
        ("Marta Kowalska-Nowak of", ["Marta Kowalska"], False),
        ("Marta Kowalska's", ["Marta Kowalska"], True),
        ("1,000 people", ["1"], False),
        ("1.", ["1"], True),
    ],
)
def test_matching(output, wanted, matched):
    assert matches(output, wanted) is matched


def test_given_demonstrations(built, tmp_path):
    path = tmp_path / "prompts.json"
    path.write_text(json.dumps({"P36": "Q: The capital of x? A: y\n"}), encoding="utf-8")
    given = read_demonstrations(path)
    plain = built(Snapshot([FACTS[0], CHAINS[0]]), min_sitelinks=0)
    model = Stub(lambda text: "?")
    ask(plain, model, given=given)
    assert "Q: The capital of x? A: y\nThe capital of item 1 is" in model.asked
    assert "The country of item 21 is" in model.asked
    assert "Q: The capital of x? A: y\nThe capital of the country of item 21 is" in model.asked
    assert {tuple(row["demo_ids"]) for row in rows(plain.folder / "klob_recall.parquet")} == {()}
    assert read_demonstrations(None) == {}
    for wrong in ("[1]", '{"P36": null}'):
        path.write_text(wrong, encoding="utf-8")
        with pytest.raises(InputError, match="no JSON map"):
            read_demonstrations(path)
    with pytest.raises(InputError, match="no such file"):
        read_demonstrations(tmp_path / "none.json")
    empty = built(Snapshot([]), folder="empty")
    assert rows(ask(empty, model)) == rows(empty.folder / "klob_recall.parquet") == []


TOWNS = ["Alba", "Brno", "Cork", "Doha", "Elda", "Faro", "Gent"]
TAUGHT = Snapshot(
    [Fact(number, 36, 100 + number) for number in range(len(TOWNS))],
    labels={**{100 + n: town for n, town in enumerate(TOWNS)}, **{n: f"Land{n}" for n in range(len(TOWNS))}},
)


def teach(texts: list[str], folder: Path) -> None:
    """Writes a tiny GPT-2 that goes on as the texts do."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    wrapped = tokenizer_of(texts, ["<end>"], pad_token="<end>")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    sizes = {"vocab_size": len(wrapped), "n_positions": 64, "n_embd": 64, "n_layer": 2, "n_head": 2}
    without = dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop", "bos_token_id", "eos_token_id"), 0)
    model = GPT2LMHeadModel(GPT2Config(**sizes, **without))
    batch = wrapped([f"{text}<end>" for text in texts], return_tensors="pt", padding=True)
    labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    for _ in range(300):
        loss = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"], labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.save_pretrained(folder)
    wrapped.pad_token = None
    wrapped.save_pretrained(folder)


@pytest.mark.slow
def test_the_command_asks_a_model_by_its_settings(built, tmp_path, capsys):
    """It knows most capitals, one of them in two wordings only; its context has room for 64 tokens."""
    plain = built(TAUGHT, min_sitelinks=0)
    right, taught = {}, []
    for row in plain.sentences:
        if row["subtask"] == "c":
            town = row["target_label"]
            is_known = town not in ("Brno", "Doha") and (town != "Cork" or row["place"] != 2)
            right[row["sentence_id"]] = is_known
            taught.append(f"{row['text']} {town if is_known else 'Hull'}\n")
    teach(taught, tmp_path / "model")
    outputs = [tmp_path / f"{name}.parquet" for name in ("klob_recall", "passes")]
    demos = tmp_path / "demos.json"
    settings = {"model": str(tmp_path / "model"), "revision": "main", "dtype": "float32", "device": "cpu"}
    files = {"facts": "bucket", "candidates": "facts"}
    files |= {name: name for name in ("entities", "classes", "properties", "chains")}
    line = ["klob", "recall", *(f"--{key}={plain.folder}/{name}.parquet" for key, name in files.items())]
    line += [f"--settings={json.dumps(settings | {'demos': str(demos)})}", "--date=2023-02-27"]
    line += [f"--out-recall={outputs[0]}", f"--out-passes={outputs[1]}"]
    demos.write_text(json.dumps({"P36": "Land1 " * 40}), encoding="utf-8")
    assert main(line) == 1
    assert "has room for 64 tokens, and a prompt with its answer needs" in capsys.readouterr().err
    demos.write_text('{"P36": ""}', encoding="utf-8")
    assert main(line) == 0
    assert sum(row["recall_pass"] for row in rows(outputs[1])) == len(TOWNS) - 3
    table = rows(outputs[0])
    assert {row["sentence_id"]: row["matched"] for row in table} == right
    assert {(row["model"], row["revision"], row["dtype"]) for row in table} == {
        (settings["model"], "main", "float32")
    }
