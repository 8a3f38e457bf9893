"""Examples, sentences, the account and the published layout: what a small snapshot becomes."""

import hashlib
import json
from collections import Counter
from typing import Any

import pyarrow.parquet as pq
import pytest
from support.worlds import Date, Fact

from factdrift.cli import main
from factdrift.core.errors import InputError
from factdrift.core.tables import as_written, database
from factdrift.klob.relations import check_properties
from factdrift.klob.schemas import EXAMPLES, SENTENCES, SUBTASK

from .conftest import Built, Row, Snapshot

CHAIN = [Fact(1, 17, 2), Fact(2, 36, 3)]
NAMES = {1: "Kinkaku-ji", 2: "Japan", 3: "Tokyo"}


def short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def test_an_example_of_each_subtask(built):
    found = built(Snapshot(CHAIN, labels=NAMES, aliases={2: ["Nippon"]}, sitelinks={1: 40, 2: 300, 3: 7}))
    (kyoto, japan) = sorted(found.subtask("c"), key=lambda row: str(row["s"]))
    assert {key: kyoto[key] for key in EXAMPLES.names} == {
        **{"example_id": short("c|Q1|P17|Q2||"), "subtask": "c", "s": "Q1", "p1": "P17", "o1": "Q2"},
        **{"p2": None, "o2": None, "s_label": "Kinkaku-ji", "o1_label": "Japan", "o2_label": None},
        **{"o1_aliases": ["Nippon"], "o2_aliases": None, "stmt1_id": "Q1$P17-Q2-0", "stmt2_id": None},
        **{"rev_s": 2, "rev_o1": 1, "pop_s": 40, "pop_o": 300, "recall_pass": None, "origin": "snapshot"},
        **{"snapshot_id": "2023-02-27", "p1_name": "is-located", "p2_name": None},
    }
    assert [sentence["text"] for sentence in kyoto["sentences"]] == [
        "The country of Kinkaku-ji is",
        "Kinkaku-ji belongs to the sovereign state of",
        "The nation in which Kinkaku-ji is situated is",
    ]
    assert [sentence["template_id"] for sentence in kyoto["sentences"]] == ["P17-1", "P17-2", "P17-3"]
    assert {(sentence["target_id"], sentence["target_label"]) for sentence in kyoto["sentences"]} == {
        ("Q2", "Japan")
    }
    assert japan["p1"] == "P36"

    (chain,) = found.subtask("r")
    assert chain["example_id"] == short("r|Q1|P17|Q2|P36|Q3")
    assert (chain["p1_name"], chain["p2_name"], chain["stmt2_id"]) == ("country", "capital", "Q2$P36-Q3-0")
    assert [sentence["role"] for sentence in chain["sentences"]] == ["single"] * 3 + ["chain"]
    last = chain["sentences"][-1]
    assert last["text_blank"] == "The capital of the country of Kinkaku-ji is _"
    assert (last["n_tokens"], last["template_id"], last["target_id"]) == (9, "P17>P36", "Q3")
    assert [sentence["target_id"] for sentence in chain["sentences"][:3]] == ["Q2"] * 3

    for table, name in ((found.examples, "example_id"), (found.sentences, "sentence_id")):
        keys = [row[name] for row in table]
        assert keys == sorted(set(keys))
    assert kyoto["sentences"][1]["sentence_id"] == short(f"{kyoto['example_id']}|expr|2")
    with database() as db:
        for name, schema in (("examples", EXAMPLES), ("sentences", SENTENCES)):
            written = pq.read_schema(found.folder / f"klob_{name}.parquet")
            assert written.names == schema.names
            assert written.types == as_written(db, schema).types
    assert pq.read_schema(found.folder / "klob_c.parquet").remove_metadata() == SUBTASK


def test_same_seed_same_bytes_other_seed_other_words(built):
    snapshot = Snapshot(CHAIN, labels=NAMES)
    files = ("examples.parquet", "sentences.parquet", "meta.json")

    def written(folder: str, seed: int) -> list[bytes]:
        found = built(snapshot, folder=folder, seed=seed)
        return [(found.folder / f"klob_{name}").read_bytes() for name in files]

    first = written("a", 3)
    assert written("b", 3) == first
    assert written("c", 4)[1] != first[1]


def test_the_account(built):
    facts = [*CHAIN, Fact(4, 17, 2), Fact(5, 17, 2), Fact(6, 17, 2, rank="deprecated")]
    found = built(Snapshot(facts, labels=NAMES, sitelinks={5: 0}), quotas={17: 1, 36: 9})
    meta = found.meta
    assert meta["dropped"] == {"statements": {"deprecated": 1}, "c": {"quota": 1, "sitelinks": 1}, "r": {}}
    assert meta["dropped_by_relation"]["c"] == {"P17": {"quota": 1, "sitelinks": 1}}
    table2 = {row["pid"]: row for row in meta["table2"]}
    assert len(table2) == 32
    assert table2["P17"] | {"label": 0} == {
        **{"pid": "P17", "label": 0, "name": "is-located", "quota": 1, "examples": 1, "shortfall": 0}
    }
    assert table2["P36"]["shortfall"] == 8
    assert meta["klob_r"]["pairs"] == {"P17>P36": 3}


def test_the_account_reports_how_far_answers_can_be_guessed(built):
    labels = {50: "Emerald City", 51: "Gotham", 1: "Gotham Gazette", 2: "Emerald of the East", 3: "the City"}
    facts = [Fact(1, 159, 51), Fact(2, 159, 50), Fact(3, 159, 50), Fact(4, 159, 50), Fact(5, 36, 60)]
    world = Snapshot([*facts, Fact(60, 37, 70)], labels=labels)
    balance = built(world, stop_words=frozenset({"city", "item"})).meta["balance"]
    # The first leaks; of the others one has the word "emerald" in common with its answer.
    assert balance["klob_c"]["relations"]["P159"] == {
        "examples": 3,
        "answers": 1,
        "majority_answer": "Emerald City",
        "majority_answer_share": 1,
        "shared_word_share": 0.3333,
    }
    assert balance["klob_c"]["majority_answer_share"] == 1
    assert balance["klob_c"]["shared_word_share"] == 0.2
    assert set(balance["klob_r"]["relations"]) == {"P36>P37"}


def test_the_share_of_an_answer_is_limited(built):
    facts = [Fact(number, 17, 90 if number < 20 else 90 + number) for number in range(1, 31)]
    facts += [Fact(90, 36, 150), *(Fact(90 + number, 36, 200 + number) for number in range(20, 31))]
    found = built(Snapshot(facts), max_answer_share=0.25)
    answers = Counter(row["o1"] for row in found.subtask("c") if row["p1"] == "P17")
    assert answers["Q90"] == 3
    assert sum(answers.values()) == 14
    ends = Counter(row["o2"] for row in found.subtask("r"))
    assert (ends["Q150"], sum(ends.values())) == (3, 14)
    assert found.meta["dropped"]["c"] == {"answer_share": 16}


def test_an_empty_snapshot_and_a_fact_without_a_chain(built):
    found = built(Snapshot([]))
    assert [found.subtask(name) for name in "cru"] == [[], [], []]
    assert found.meta["table1"]["klob_c"] == {
        **{"relations": 0, "mean_length": None, "mean_length_by_role": {}, "examples": 0, "sentences": 0}
    }
    fact = built(Snapshot(CHAIN[:1]), folder="fact")
    assert [len(fact.subtask(name)) for name in "cru"] == [1, 0, 3]


def test_a_users_templates_and_relations_without_any(built, tmp_path):
    table = tmp_path / "templates.json"
    table.write_text(
        '{"P17": ["[X] lies in , well , [Y]", "[X] : [Y]", "[X] \'s land is [Y]"]}', encoding="utf-8"
    )
    found = built(Snapshot(CHAIN, labels=NAMES), templates=table)
    (example,) = found.subtask("c")
    assert [row["text_blank"] for row in example["sentences"]] == [
        "Kinkaku-ji lies in , well , _",
        "Kinkaku-ji : _",
        "Kinkaku-ji 's land is _",
    ]
    assert found.meta["dropped"]["c"] == {"no_template": 1}


def test_names_with_blanks_and_brackets_are_taken_as_they_are(built):
    """Tokens are counted between whatever Python takes for white space."""
    blanks = "x".join(filter(str.isspace, map(chr, range(1, 0x3001))))
    name = f"[Y] {{x}} 'a'\\1{blanks}y"
    found = built(Snapshot(CHAIN, labels={1: name, 2: "Japan", 3: "Tokyo"}))
    chain = found.subtask("r")[0]["sentences"]
    assert chain[0]["text"] == f"The country of {name} is"
    assert chain[-1]["text"] == f"The capital of the country of {name} is"
    assert chain[-1]["n_tokens"] == len(f"The capital of the country of {name} is _".split())


def test_relations_that_the_snapshot_lacks_or_calls_otherwise(choice, tmp_path, capsys):
    Snapshot([], lacks=frozenset({17}), renamed={140: "religion"}).write(tmp_path, choice)
    with pytest.raises(InputError, match=r"P17 \(country\) is missing.*slice: true"):
        check_properties(tmp_path / "properties.parquet", choice, False)
    found = check_properties(tmp_path / "properties.parquet", choice, True)
    assert (found[17], found[140]) == ("country", "religion")
    assert "P140 is called 'religion' here, not 'religion or worldview'" in capsys.readouterr().out


def written(found: Built, relation: str) -> list[str]:
    """The sentences of KLoB-c about a relation, in the order of the templates."""
    rows = [row for row in found.sentences if row["subtask"] == "c"]
    return [
        row["text"] for row in sorted(rows, key=lambda row: row["place"]) if relation in row["template_id"]
    ]


def test_a_sentence_of_klob_c_begins_with_a_capital(built):
    """Names such as iPhone stay; one that begins no sentence stays, too."""
    labels = {1: "midfielder", 2: "soccer", 3: "iPhone", 4: "k.d. lang", 5: "Rome"}
    facts = [Fact(1, 127, 2), Fact(3, 127, 5), Fact(4, 127, 5)]
    found = built(Snapshot(facts, labels=labels))
    texts = written(found, "P127-")
    assert [text for text in texts if "idfielder" in text] == [
        *("Midfielder is owned by", "The owner of midfielder is", "Ownership of midfielder rests with")
    ]
    assert {text.split()[0] for text in texts if " owned by" in text} == {"Midfielder", "iPhone", "k.d."}


def test_names_have_their_articles_and_verbs_their_number(built):
    facts = [Fact(1, 17, 2), Fact(2, 36, 3), Fact(4, 159, 5)]
    labels = {1: "Rotterdam", 2: "Netherlands", 3: "Amsterdam", 4: "Boston Celtics", 5: "Brighton"}
    found = built(Snapshot(facts, labels=labels), fitted=True)
    assert written(found, "P17-") == [
        "The country of Rotterdam is the",
        "Rotterdam belongs to the sovereign state of the",
        "The nation in which Rotterdam is situated is the",
    ]
    assert written(found, "P36-")[0] == "The Netherlands is governed from its capital,"
    assert written(found, "P159-") == [
        "The Boston Celtics have their headquarters in",
        "The head office of the Boston Celtics is situated in",
        "The main offices of the Boston Celtics are in",
    ]
    (chain,) = (row for row in found.sentences if row["role"] == "chain")
    assert chain["text_blank"] == "The capital of the country of Rotterdam is _"
    assert {row["o1_label"] for row in found.subtask("c") if row["p1"] == "P17"} == {"Netherlands"}
    plain = built(Snapshot(facts, labels=labels), folder="plain")
    assert written(plain, "P17-")[0] == "The country of Rotterdam is"
    assert written(plain, "P159-")[0] == "Boston Celtics has its headquarters in"


def test_of_the_dead_it_speaks_in_the_past(built):
    facts = [Fact(1, 106, 2), Fact(3, 106, 2), Fact(1, 570, Date("1616-04-23 julian"))]
    # A date that is no longer believed makes nobody dead.
    facts.append(Fact(3, 570, Date("1970-01-01"), rank="deprecated"))
    found = built(Snapshot(facts, labels={1: "Shakespeare", 2: "writer", 3: "King"}), fitted=True)
    texts = written(found, "P106-")
    assert {"Shakespeare had the occupation of", "King has the occupation of"} <= set(texts)
    assert "The profession that Shakespeare pursued was that of" in texts
    assert found.meta["dropped"]["statements"] == {}


def record(row: Row) -> Any:
    """An example as the specification writes it (section 2), by its relations' names and labels."""
    texts = [f"{sentence['text']} _" for sentence in row["sentences"]]
    fact = [row["s_label"], f"{row['p1_name']}_({row['p1']})", row["o1_label"]]
    if row["subtask"] == "c":
        return {"prompts": texts, "knowledge": fact}
    if row["subtask"] == "u":
        return texts[0]
    return {
        "single_knowledge": fact,
        "knowledge_chain": [*fact, f"{row['p2_name']}_({row['p2']})", row["o2_label"]],
        "single_knowlege_prompts": texts[:3],
        "knowlege_chain_prompt": texts[3][0].lower() + texts[3][1:],
    }


def test_a_build_is_exported_in_the_published_layout(built, tmp_path):
    facts = [Fact(1, 127, 2), Fact(2, 36, 3), Fact(4, 127, 2), Fact(5, 127, 2)]
    found = built(Snapshot(facts, labels={1: "Zoë's The Shop", 2: "Japan", 3: "Tokyo"}))
    target = tmp_path / "KLoB.jsonl"
    for name, number in (("c", 4), ("r", 3), ("u", 15)):
        rows = found.subtask(name)
        tables = [f"--{table}={found.folder}/klob_{table}.parquet" for table in ("examples", "sentences")]
        line = ["klob", "subtask", *tables, f"--subtask={name}", f"--published={target}"]
        assert main([*line, "-o", f"{tmp_path}/klob_{name}.parquet"]) == 0
        text = target.read_text(encoding="utf-8")
        assert text.endswith("\n")
        lines = text.splitlines()
        assert [json.loads(line) for line in lines] == [record(row) for row in rows]
        assert list(map(len, (lines, rows))) == [number] * 2
        if name == "r":
            wanted = ["Zoë's The Shop", "owned by_(P127)", "Japan", "capital_(P36)", "Tokyo"]
            (chain,) = (json.loads(line) for line in lines if "Zoë" in line)
            assert chain["knowledge_chain"] == wanted
            assert chain["single_knowlege_prompts"][0] == "Zoë's The Shop is owned by _"
            assert chain["knowlege_chain_prompt"] == "the capital of the owner of Zoë's The Shop is _"
