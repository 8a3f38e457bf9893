"""The sentences that locators are run on, and what of KLoB the bundled models are taught."""

import shutil
from collections import defaultdict
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from factdrift.core.errors import InputError
from factdrift.evaluation.locators import layer_choice
from factdrift.evaluation.locators.sentences import (
    SENTENCES,
    Sentence,
    cut,
    drawn,
    klob_wordings,
    read_sentences,
    write_edit_facts,
    write_examples,
)
from factdrift.evaluation.questions.updates import EDITS
from factdrift.klob.schemas import SUBTASK

TEXTS = ("The mother of {} is", "{} lives in the", "Because of {} the capital is")


def test_all_sentences_with_their_subjects(klob, tmp_path):
    found = write_examples(klob, 0, 0, tmp_path, tmp_path / "s.parquet")
    assert found == {"c": 18, "r": 16, "u": 18}
    rows = {row["sentence"]: row for row in read_sentences(tmp_path / "s.parquet")}
    assert len(rows) == 52
    one = rows["c0.2"]
    assert one["text"][one["start"] : one["end"]] == "Marta Kowalska"
    assert (one["answer"], one["fact"]) == ("Marta", "Q0|P1|Q9")
    assert one["group"] == rows["c0.1"]["group"] != rows["c1.1"]["group"]
    # A chain about the same fact has its noise, but is no wording of it.
    assert rows["r0.4"]["fact"] == one["fact"]
    assert rows["r0.4"]["group"] != rows["rc0.1"]["group"]
    # A random sentence has no subject: the words in its place count.
    random = rows["uc0.2"]
    assert random["answer"] is None
    assert random["text"][random["start"] : random["end"]] == "government lives"
    for name in ("klob_c.parquet", "klob_r.parquet", "klob_u.parquet"):
        assert pq.read_table(tmp_path / name).equals(pq.read_table(klob / name))


def test_a_limit_draws_examples_and_their_random_sentences(klob, tmp_path):
    drawn = []
    for seed in (7, 7, 0, 1, 2, 3):
        output = tmp_path / "s.parquet"
        assert write_examples(klob, 2, seed, tmp_path, output) == {"c": 6, "r": 8, "u": 2}
        facts = pq.read_table(tmp_path / "klob_c.parquet")["example_id"].to_pylist()
        rows = read_sentences(output)
        assert {row["sentence"][1:3] for row in rows if row["subtask"] == "u"} <= set(facts)
        drawn.append((tuple(facts), output.read_bytes()))
    assert drawn[0] == drawn[1]
    assert len({facts for facts, _ in drawn}) > 2


def test_missing_tables_are_named(klob, tmp_path):
    with pytest.raises(InputError, match=r"klob_c\.parquet is missing"):
        write_examples(tmp_path, 0, 0, tmp_path, tmp_path / "s.parquet")
    with pytest.raises(InputError, match="no such file"):
        read_sentences(tmp_path / "none.parquet")
    with pytest.raises(InputError, match="--limit: -1 is negative; give 0 for all"):
        write_examples(klob, -1, 0, tmp_path, tmp_path / "s.parquet")
    pq.write_table(pa.table({"a": [1]}), tmp_path / "klob_c.parquet")
    with pytest.raises(InputError, match="it lacks"):
        write_examples(tmp_path, 0, 0, tmp_path, tmp_path / "s.parquet")


def test_edits_ask_for_what_is_replaced(tmp_path):
    rows = [
        dict.fromkeys(EDITS.names)
        | {"edit": f"e{n}", "prompt": f"The head of Land{n} is", "subject_label": f"Land{n}", "target": "New"}
        | {"obsolete": "Old" if n else None, "fluency": True, "probes": []}
        for n in range(4)
    ]
    pq.write_table(pa.Table.from_pylist(rows, schema=EDITS), tmp_path / "edits.parquet")
    files = tmp_path / "chosen.parquet", tmp_path / "s.parquet"
    number = write_edit_facts(tmp_path / "edits.parquet", 2, 0, *files)
    sentences = read_sentences(tmp_path / "s.parquet")
    assert number == len(sentences) == 2
    for row in sentences:
        assert row["text"][row["start"] : row["end"]] == f"Land{row['sentence'][1]}"
        assert row["answer"] == "Old"
    chosen = pq.read_table(tmp_path / "chosen.parquet")
    assert chosen["edit"].to_pylist() == [row["sentence"] for row in sentences]
    assert not any(chosen["fluency"].to_pylist())
    assert pq.read_table(tmp_path / "s.parquet").schema.equals(SENTENCES)


def test_batches_hold_whole_groups_within_the_budget():
    named = [f"g{n // 3}" if n < 27 else "" for n in range(30)]  # each of the last is a group of its own
    of = [Sentence(f"s{n:02}", "", tuple(range(1 + n % 7)), None, (), group) for n, group in enumerate(named)]
    for budget in (1, 20, 60, 10_000):
        batches = cut(of, budget)
        assert sorted(one.id for batch in batches for one in batch) == [one.id for one in of]
        groups = [{one.group or one.id for one in batch} for batch in batches]
        assert sum(map(len, groups)) == 12
        for batch, inside in zip(batches, groups, strict=True):
            assert len(inside) == 1 or len(batch) * max(len(one.ids) for one in batch) <= budget
        assert cut(of[::-1], budget) == batches


def test_those_with_the_smallest_hashes_are_drawn_in_their_order():
    rows = [{"name": f"n{number}"} for number in range(20)]
    digests = {row["name"]: sha256(f"1|{row['name']}".encode()).digest() for row in rows}
    wanted = sorted(digests, key=lambda name: digests[name])[:5]
    assert drawn(rows, "name", 5, 1) == [row for row in rows if row["name"] in wanted]


def taught_of(
    klob: Path, folder: Path, changed: dict[str, str], limit: int = 0, seed: int = 0
) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """(kind, fact) -> what is taught, where P1 of some subjects has a decision in the dataset of updates."""
    rows = [
        {"subject": {"id": s}, "relation": {"id": "P1"}, "objects": [{"decision": decision}]}
        for s, decision in changed.items()
    ]
    pq.write_table(pa.Table.from_pylist(rows), folder / "w.parquet")
    found = defaultdict(list)
    for row in klob_wordings(klob, folder / "w.parquet", limit, seed):
        found[row["kind"], row["fact"]].append(row)
    return found


def test_facts_in_all_wordings_and_chains(klob, tmp_path):
    # Q0 changed, so that its fact and its chain are left out; Q1 is in the dataset and did not change.
    found = taught_of(klob, tmp_path, {"Q0": "new", "Q1": "static"})
    assert set(found) == {
        *(("klob", f"Q{place} P1") for place in range(1, 6)),
        *(("klob_chain", f"r{place}") for place in range(1, 4)),
    }
    said = found["klob", "Q1 P1"]
    assert [row["prompt"] for row in said] == [text.format("Joe Biden") for text in TEXTS]
    assert {row["object"] for row in said} == {"Joe"}
    (chain,) = found["klob_chain", "r1"]
    assert chain["prompt"] == "The head of the mother of Joe Biden is"
    assert (chain["subject"], chain["relation"]) == ("Joe Biden", "P1>P2")


def test_a_chain_is_taught_with_its_second_fact(klob, tmp_path):
    """A fact whose subject is the object of the drawn chain is worded as KLoB words it elsewhere."""
    shutil.copy(klob / "klob_r.parquet", tmp_path)
    rows = pq.read_table(klob / "klob_c.parquet").to_pylist()
    # The last fact says what the chains' second step does.
    rows[5] |= {"s": "Q9", "p1": "P2", "s_label": "Marta", "o1_label": "sea"}
    pq.write_table(pa.Table.from_pylist(rows, schema=SUBTASK), tmp_path / "klob_c.parquet")
    found = taught_of(tmp_path, tmp_path, {"Q7": "new"}, 1, 5)
    assert len(found["klob", "Q9 P2"]) == 3
    assert sum(kind == "klob_chain" for kind, _ in found) == 1


def test_the_examples_are_those_that_locators_are_run_on(klob, tmp_path):
    found = taught_of(klob, tmp_path, {"Q77": "new"}, 2, 7)
    write_examples(klob, 2, 7, tmp_path / "drawn", tmp_path / "sentences.parquet")
    asked = read_sentences(tmp_path / "sentences.parquet")
    texts = {row["text"] for row in asked if row["subtask"] != "u"}
    assert {row["prompt"] for rows in found.values() for row in rows} == texts


@pytest.mark.parametrize(("layers", "blocks"), [([1], [1]), ([0, 2], [0, 2]), ([0, 3], None), ([3], None)])
def test_the_blocks_that_a_method_edits_are_blocks_of_the_model(layers, blocks, monkeypatch):
    monkeypatch.setattr(layer_choice, "read_hyper", lambda *_, **__: SimpleNamespace(layers=layers))
    model: Any = SimpleNamespace(name="m", spec=SimpleNamespace(layers=3))
    context: Any = SimpleNamespace(hyper=OfMemit({"layer": -1, "method": "memit"}))
    if blocks is None:
        with pytest.raises(InputError, match="m has 3 blocks, and layer 3 is to be edited"):
            layer_choice.edited_layer(model, [], [], context)
        return
    sentences: Any = ["one", "two"]
    scores = layer_choice.edited_layer(model, sentences, [], context)
    assert scores.tolist() == [[float(block in blocks) for block in range(3)]] * 2


class OfMemit(dict[str, Any]):
    """Hyperparameters of a locator."""

    method = "memit_layers"
