"""The published files: read, written, and back byte for byte."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples
from support.worlds import Fact

from factdrift.cli import main
from factdrift.core.errors import InputError
from factdrift.klob.published import export, import_published
from factdrift.klob.schemas import EXAMPLES, SENTENCES, SUBTASK

from .conftest import Build, Snapshot, rows

C = {
    "prompts": ["The tongue of Zoë is _", "Zoë speaks _", "_ no _"],
    "knowledge": ["Zoë", "native_(P103)", "Dutch"],
}
R = {
    "single_knowledge": ["Ann", "spouse_(P26)", "Carl"],
    "knowledge_chain": ["Ann", "spouse_(P26)", "Carl", "employer_(P108)", 'Cornell, "the" U.'],
    "single_knowlege_prompts": ["Ann is wed to _", "The spouse of Ann is _", "With Ann lives _"],
    "knowlege_chain_prompt": "the employer of the spouse of Ann is _",
}
U = "extirpation sensa ! Rousseauan _"


def write(folder: Path, ascii_only: bool = False, **lines: list[Any]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for subtask, records in lines.items():
        text = "".join(json.dumps(record, ensure_ascii=ascii_only) + "\n" for record in records)
        (folder / f"KLoB-{subtask}.jsonl").write_text(text, encoding="utf-8", newline="\n")
    return folder


def there_and_back(folder: Path, output: Path) -> dict[str, bytes]:
    found = {}
    for subtask in import_published(folder, output):
        dataset = output / f"klob_{subtask}.parquet"
        export(dataset, output / "back.jsonl")
        found[subtask] = (output / "back.jsonl").read_bytes()
    return found


@pytest.mark.parametrize("ascii_only", [False, True])
def test_round_trip_byte_for_byte(tmp_path: Path, ascii_only: bool) -> None:
    other = C | {"knowledge": ["Zoë", "native_(P103)", "Frisian"]}
    folder = write(tmp_path / "in", ascii_only, c=[C, other, C, C], r=[R, R], u=[U, "b a _", U, "zz _"])
    back = there_and_back(folder, tmp_path / "out")
    assert back == {name: (folder / f"KLoB-{name}.jsonl").read_bytes() for name in "cru"}


def test_columns_of_an_import(tmp_path: Path) -> None:
    import_published(write(tmp_path / "in", c=[C], r=[R], u=[U]), tmp_path)
    (example,) = rows(tmp_path / "klob_r.parquet")
    assert pq.read_schema(tmp_path / "klob_r.parquet").remove_metadata() == SUBTASK
    assert pq.read_schema(tmp_path / "klob_examples.parquet").remove_metadata() == EXAMPLES
    assert pq.read_schema(tmp_path / "klob_sentences.parquet").remove_metadata() == SENTENCES
    assert {
        key: example[key] for key in ("s", "p1", "o1", "p2", "o2", "origin", "line", "p1_name", "p2_name")
    } == {
        **{"s": None, "p1": "P26", "o1": None, "p2": "P108", "o2": None, "origin": "published", "line": 1},
        **{"p1_name": "spouse", "p2_name": "employer"},
    }
    chain = example["sentences"][-1]
    assert (chain["role"], chain["template_id"], chain["n_tokens"]) == ("chain", "P26>P108", 9)
    assert chain["target_label"] == 'Cornell, "the" U.'
    assert [sentence["target_label"] for sentence in example["sentences"][:3]] == ["Carl"] * 3
    (fact,) = rows(tmp_path / "klob_c.parquet")
    assert [sentence["template_id"] for sentence in fact["sentences"]] == ["P103-1", "P103-2", "P103-3"]
    (words,) = rows(tmp_path / "klob_u.parquet")
    assert words["sentences"][0]["text"] == "extirpation sensa ! Rousseauan"
    assert words["sentences"][0]["source_sentence_id"] is None
    meta = json.loads((tmp_path / "klob_meta.json").read_text(encoding="utf-8"))
    assert meta["table1"]["klob_c"]["examples"] == 1


def test_right_spellings_are_read_and_the_published_ones_written(tmp_path: Path) -> None:
    """But for a misprinted relation; the name of one may have brackets."""
    right = {key.replace("knowlege", "knowledge"): value for key, value in R.items()}
    facts = [C | {"knowledge": ["x", name, "y"]} for name in ("owned-uy_(P127)", "field_of (work)_(P101)")]
    back = there_and_back(write(tmp_path / "in", c=facts, r=[right]), tmp_path / "out")
    assert json.loads(back["r"]) == R
    relations = [json.loads(line)["knowledge"][1] for line in back["c"].splitlines()]
    assert relations == ["owned-by_(P127)", "field_of (work)_(P101)"]


@pytest.mark.parametrize(
    ("subtask", "record", "message"),
    [
        ("c", {"prompts": ["x is _"]}, "missing required field `knowledge`"),
        ("c", C | {"prompts": ["x is"]}, "does not end with a blank"),
        ("c", C | {"prompts": []}, "Expected `array` of length >= 1"),
        ("c", C | {"knowledge": ["x", "a", "y"]}, "'a' is no relation"),
        ("c", "words _", "Expected `object`, got `str`"),
        ("r", R | {"single_knowledge": ["Bob", "spouse_(P26)", "Carl"]}, "does not begin with the single"),
        ("u", {"a": 1}, "does not end"),
    ],
)
def test_lines_that_are_no_records(tmp_path: Path, subtask: str, record: Any, message: str) -> None:
    good = {"c": C, "r": R, "u": U}[subtask]
    folder = write(tmp_path / "in", **{subtask: [good, record]})
    with pytest.raises(InputError, match=message) as error:
        import_published(folder, tmp_path / "out")
    assert f"KLoB-{subtask}.jsonl, line 2" in str(error.value)
    assert not list(tmp_path.glob("out/*"))


def test_an_import_of_some_of_the_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Not without any, nor of a truncated one."""
    assert main(["klob", "import", str(tmp_path), "-o", str(tmp_path / "none")]) == 1
    assert "none of KLoB-c.jsonl" in capsys.readouterr().err
    (tmp_path / "KLoB-u.jsonl").write_bytes(b'"a b _"\n"c d')
    assert main(["klob", "import", str(tmp_path), "-o", str(tmp_path / "none")]) == 1
    assert "KLoB-u.jsonl, line 2: not a record of KLoB-u as it was published: Unt" in capsys.readouterr().err
    import_published(write(tmp_path / "whole", c=[C], u=[U]), tmp_path / "out")
    write(tmp_path / "in", u=[U])
    assert main(["klob", "import", str(tmp_path / "in"), "-o", str(tmp_path / "out")]) == 0
    assert capsys.readouterr().out == "1 examples of KLoB-u\n"
    assert not (tmp_path / "out" / "klob_c.parquet").exists()
    target = tmp_path / "u.jsonl"
    assert main(["klob", "export", str(tmp_path / "out" / "klob_u.parquet"), "-o", str(target)]) == 0
    assert target.read_text(encoding="utf-8") == json.dumps(U) + "\n"


def test_a_build_exports_in_the_published_layout_and_comes_back(built: Build, tmp_path: Path) -> None:
    found = built(
        Snapshot([Fact(1, 127, 2), Fact(2, 36, 3)], labels={1: "Zoë's The Shop", 2: "Japan", 3: "Tokyo"})
    )
    folder = tmp_path / "in"
    folder.mkdir()
    for name in "cru":
        found.subtask(name)
        export(found.folder / f"klob_{name}.parquet", folder / f"KLoB-{name}.jsonl")
    assert json.loads((folder / "KLoB-r.jsonl").read_text(encoding="utf-8")) == {
        "single_knowledge": ["Zoë's The Shop", "owned by_(P127)", "Japan"],
        "knowledge_chain": ["Zoë's The Shop", "owned by_(P127)", "Japan", "capital_(P36)", "Tokyo"],
        "single_knowlege_prompts": [
            "Zoë's The Shop is owned by _",
            "The owner of Zoë's The Shop is _",
            "Ownership of Zoë's The Shop rests with _",
        ],
        "knowlege_chain_prompt": "the capital of the owner of Zoë's The Shop is _",
    }
    facts = [json.loads(text) for text in (folder / "KLoB-c.jsonl").read_text(encoding="utf-8").splitlines()]
    assert ["Zoë's The Shop", "owned-by_(P127)", "Japan"] in [fact["knowledge"] for fact in facts]
    assert there_and_back(folder, tmp_path / "out") == {
        name: (folder / f"KLoB-{name}.jsonl").read_bytes() for name in "cru"
    }


NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8)


@settings(max_examples=examples(10))
@given(
    st.lists(st.tuples(NAMES, NAMES, NAMES), min_size=1, max_size=5), st.lists(NAMES, min_size=1, max_size=5)
)
def test_any_names_come_back(
    tmp_path_factory: pytest.TempPathFactory, facts: list[tuple[str, str, str]], words: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("published")
    records = [
        {"prompts": [f"{a} is _", f"the {b} of {a} is _"], "knowledge": [a, f"{b}_(P1)", c]}
        for a, b, c in facts
    ]
    write(folder, c=records, u=[f"{word} _" for word in words])
    back = there_and_back(folder, folder / "out")
    assert back == {name: (folder / f"KLoB-{name}.jsonl").read_bytes() for name in "cu"}
