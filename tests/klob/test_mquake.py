"""Chains from files in MQuAKE's two layouts."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.worlds import Fact

from factdrift.core.errors import InputError
from factdrift.klob.mquake import write_mquake
from factdrift.klob.relations import RelationChoice

from .conftest import Row, Snapshot, rows

LABELS = {1: "Ada", 2: "Carl", 3: "Cornell", 4: "Ithaca", 5: "Fuji"}


def case(number: int, *triples: tuple[int, int, int]) -> Row:
    """A case in the published layout, its edited triples beside what held before."""
    hops = [
        {"question": "?", "cloze": "", "answer": LABELS[o], "answer_alias": [f"{LABELS[o]} alias"]}
        for _, _, o in triples
    ]
    edited = [[f"Q{s}", f"P{p}", "Q999"] for s, p, _ in triples]
    return {
        "case_id": number,
        "questions": [f"Which is asked for by {number}, wording {n}?" for n in range(3)],
        "single_hops": hops,
        "new_single_hops": hops,
        "orig": {
            "triples": [[f"Q{s}", f"P{p}", f"Q{o}"] for s, p, o in triples],
            "triples_labeled": [[LABELS[s], f"relation {p}", LABELS[o]] for s, p, o in triples],
            "new_triples": edited,
            "new_triples_labeled": [["x", "y", "z"] for _ in triples],
            "edit_triples": edited,
        },
    }


CASES = [
    case(1, (1, 26, 2), (2, 108, 3), (3, 159, 4)),
    case(2, (1, 26, 2), (2, 108, 3)),
    case(3, (1, 39, 2), (2, 108, 3)),  # P39 is no first hop of MQuAKE's chains
    case(4, (1, 26, 2), (3, 159, 4)),  # does not hang together
]


def read(tmp_path: Path, choice: RelationChoice, cases: Any, chain_text: str = "np") -> list[Row]:
    path = tmp_path / "mquake.json"
    path.write_text(json.dumps(cases), encoding="utf-8")
    write_mquake(path, choice, chain_text, 0, tmp_path / "mquake.parquet")
    return rows(tmp_path / "mquake.parquet")


def test_windows_of_two_triples_once_each(tmp_path, choice):
    found = {
        tuple(row[name] for name in ("s", "p1", "o1", "p2", "o2")): row
        for row in read(tmp_path, choice, CASES)
    }
    assert {key: row["dropped_by"] for key, row in found.items()} == {
        (1, 26, 2, 108, 3): None,
        (1, 39, 2, 108, 3): "relation",
        (2, 108, 3, 159, 4): None,
    }
    first = found[1, 26, 2, 108, 3]
    assert (first["s_label"], first["o1_label"], first["o2_label"]) == ("Ada", "Carl", "Cornell")
    assert (first["o1_aliases"], first["o2_aliases"]) == (["Carl alias"], ["Cornell alias"])
    # The case of two hops asks for the whole chain, that of three does not.
    assert first["question"] == "Which is asked for by 2, wording 0?"
    assert found[2, 108, 3, 159, 4]["question"] is None
    asked = read(tmp_path, choice, CASES, "question")
    assert [row["dropped_by"] for row in asked] == [None, "relation", "no_question"]


@pytest.mark.parametrize(
    ("cases", "message"),
    [
        ({"a": 1}, "a list of cases"),
        ([{"case_id": 7}], "case 7: neither"),
        ([CASES[0] | {"single_hops": ["Carl"] * 3}], r"case 1: .*single_hops\[0\]"),
        *(
            ([CASES[1] | {"orig": CASES[1]["orig"] | changed}], message)
            for changed, message in (
                ({"triples": [["Q1", "P26"]] * 2}, r"case 2: .*orig\.triples\[0\]"),
                ({"triples": [["a", "b", "c"]] * 2}, "case 2: .*is no triple"),
                ({"triples_labeled": [["Ada", "spouse", None]] * 2}, "case 2: Expected `str`, got `null`"),
            )
        ),
    ],
)
def test_other_layouts_are_refused(tmp_path, choice, cases, message):
    with pytest.raises(InputError, match=message):
        read(tmp_path, choice, cases)


def test_a_truncated_and_a_missing_file(tmp_path, choice):
    (tmp_path / "m.json").write_text(json.dumps(CASES)[:-5], encoding="utf-8")
    for name, message in (("m.json", r"m\.json: no JSON"), ("n.json", "no such file")):
        with pytest.raises(InputError, match=message):
            write_mquake(tmp_path / name, choice, "np", 0, tmp_path / "o.parquet")


def test_examples_take_labels_of_the_snapshot_first_or_questions_as_chains(tmp_path, choice, built):
    read(tmp_path, choice, CASES)
    snapshot = Snapshot([Fact(2, 17, 5)], labels={2: "Carl Sagan", 5: "Fuji"}, aliases={2: ["C. Sagan"]})
    found = built(snapshot, cases=tmp_path / "mquake.json", r_quota=1)
    (chain,) = found.subtask("r")
    assert chain["origin"] == "mquake"
    assert found.meta["dropped"]["r"] == {"quota": 1, "relation": 1}
    both = built(snapshot, cases=tmp_path / "mquake.json", folder="both").subtask("r")
    first = next(row for row in both if row["s"] == "Q1")
    assert (first["s_label"], first["o1_label"], first["o2_label"]) == ("Ada", "Carl Sagan", "Cornell")
    assert (first["o1_aliases"], first["o2_aliases"]) == (["C. Sagan"], ["Cornell alias"])
    assert [sentence["text"] for sentence in first["sentences"]] == [
        "Ada is the spouse of",
        "The marriage partner of Ada is",
        "The person to whom Ada is married is",
        "The employer of the spouse of Ada is",
    ]
    assert all(row["origin"] == "snapshot" for row in found.subtask("c"))
    asked = built(Snapshot([]), cases=tmp_path / "mquake.json", chain_text="question", folder="asked")
    (chain,) = asked.subtask("r")
    assert chain["sentences"][-1]["text_blank"] == "Which is asked for by 2, wording 0? The answer is _"
