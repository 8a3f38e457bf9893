"""Cases in the layout of MQuAKE: read as its users read them, and as KLoB does."""

import json
from pathlib import Path

import pytest
from support.ripples import CITY, COUNTRY, HUMAN, Ripple, kinds, ripple
from support.worlds import Date, Fact, World

from factdrift.cli import main
from factdrift.core.errors import InputError
from factdrift.klob.mquake import write_mquake as read_mquake
from factdrift.klob.relations import read_choice
from factdrift.tempripple.mquake import write_mquake
from factdrift.tempripple.schemas import TR_FACTS, TR_RELATED, write_rows

USA, BIDEN, TRUMP, CITIES = 30, 6279, 22686, (50, 51)
NAMES = {USA: "United States", BIDEN: "Joe Biden", TRUMP: "Donald Trump", 50: "Scranton", 51: "Queens"}
NAMES |= {60: "Pennsylvania [PA]", 61: "New York"}


def world(*more: Fact) -> World:
    """Who heads the government has changed; both have a birthplace, which is in a country of its own."""
    facts = [
        Fact(USA, 6, BIDEN, "2010-01-01", "2025-03-14"),
        Fact(USA, 6, TRUMP, "2025-03-14"),
        *(Fact(BIDEN, 19, 50), Fact(TRUMP, 19, 51), Fact(50, 17, 60), Fact(51, 17, 61)),
        *kinds(Q30=(COUNTRY,), Q6279=(HUMAN,), Q22686=(HUMAN,), Q50=(CITY,), Q51=(CITY,)),
        *kinds(Q60=(COUNTRY,), Q61=(COUNTRY,)),
        *more,
    ]
    return World(new=facts, labels=NAMES)


def tables(found: Ripple, folder: Path) -> tuple[Path, Path]:
    facts, related = folder / "tr_facts.parquet", folder / "tr_related.parquet"
    write_rows(found.facts, TR_FACTS, facts)
    write_rows(found.related, TR_RELATED, related)
    return facts, related


def test_a_case_is_the_new_fact_and_a_chain_from_it(tmp_path):
    file = tmp_path / "mquake.json"
    write_mquake(*tables(ripple(world(), tmp_path), tmp_path), file)
    by_hops = {len(case["single_hops"]): case for case in json.loads(file.read_text(encoding="utf-8"))}
    assert set(by_hops) == {2, 3}
    for case in by_hops.values():
        # What EasyEdit (zjunlp/EasyEdit, 14cea82) asks all questions for, and MeLLo (princeton-nlp/MQuAKE,
        # fb43dad) compares an answer to.
        assert case["answer"] not in {case["new_answer"], *case["new_answer_alias"]}
        assert case["new_answer"] not in case["answer_alias"]
        ends = [case[hops][-1]["answer"] for hops in ("single_hops", "new_single_hops")]
        assert ends == [case["answer"], case["new_answer"]]
    method = read_choice()._replace(shared=frozenset({6, 19}), second_hops=frozenset({19, 17}))
    assert read_mquake(file, method, "np", 0, tmp_path / "chains.parquet") == 2
    case = by_hops[3]
    (edit,) = case["requested_rewrite"]
    assert edit["prompt"].format(edit["subject"]) == "The most recent head of government of United States is"
    assert edit["target_true"] == {"str": "Joe Biden", "id": "Q6279"}
    assert edit["target_new"] == {"str": "Donald Trump", "id": "Q22686"}
    assert edit["question"] == "Who is the most recent head of government of United States?"
    (question,) = case["questions"]
    assert question.endswith("of the most recent head of government of United States?")
    assert (case["answer"], case["new_answer"]) == ("Pennsylvania [PA]", "New York")
    assert [hop["answer"] for hop in case["single_hops"]] == ["Joe Biden", "Scranton", "Pennsylvania [PA]"]
    assert [(hop["question"], hop["answer"]) for hop in case["new_single_hops"]] == [
        (edit["question"], "Donald Trump"),
        ("What is the birthplace of Donald Trump?", "Queens"),
        ("What is the country of Queens?", "New York"),
    ]
    assert case["new_single_hops"][2]["cloze"] == "The country of Queens is"
    origin = case["orig"]
    assert origin["triples"] == [["Q30", "P6", "Q6279"], ["Q6279", "P19", "Q50"], ["Q50", "P17", "Q60"]]
    assert origin["edit_triples"] == [["Q30", "P6", "Q22686"]] == origin["new_triples"][:1]
    assert origin["new_triples_labeled"][1] == ["Donald Trump", "place of birth", "Queens"]


def test_each_hop_is_asked_with_its_own_word(tmp_path):
    """Who the mother is and what her native language; and properties that the tables lack are named."""
    mothers = [Fact(BIDEN, 25, 70), Fact(TRUMP, 25, 71), Fact(70, 103, 80), Fact(71, 103, 81)]
    made = ripple(world(*mothers, *kinds(Q70=(HUMAN,), Q71=(HUMAN,))), tmp_path)
    facts, related = tables(made, tmp_path)
    write_mquake(facts, related, tmp_path / "out.json")
    cases = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    (chain,) = [case["new_single_hops"] for case in cases if case["new_answer"] == "item 81"]
    assert [hop["question"] for hop in chain[1:]] == [
        "Who is the mother of Donald Trump?",
        "What is the native language of item 71?",
    ]
    other = [fact | {"p": "P1"} for fact in made.facts]
    write_rows(other, TR_FACTS, facts)
    with pytest.raises(InputError, match=r"tr_facts\.parquet: P1 is not in the tables of properties"):
        write_mquake(facts, related, tmp_path / "none.json")


def test_the_same_answer_a_date_or_a_missing_chain_is_no_case(tmp_path, capsys):
    dates = [Fact(BIDEN, 569, Date("1942-11-20")), Fact(TRUMP, 569, Date("1946-06-14"))]
    alone = [Fact(TRUMP, 26, 70), Fact(BIDEN, 103, 80), Fact(TRUMP, 103, 80)]
    facts, related = tables(ripple(world(*dates, *alone), tmp_path), tmp_path)
    output = tmp_path / "out.json"
    line = ["edit", "export", "--layout=mquake", f"--facts={facts}", f"--related={related}"]
    assert main([*line, "-o", str(output)]) == 0
    assert "2 cases; 1 chains left out" in capsys.readouterr().out
    found = json.loads(output.read_text(encoding="utf-8"))
    assert {case["orig"]["triples"][1][1] for case in found} == {"P19"}
    write_rows([], TR_FACTS, tmp_path / "others.parquet")
    with pytest.raises(InputError, match=r"follows from no fact of .*others\.parquet; give"):
        write_mquake(tmp_path / "others.parquet", related, output)
    write_rows([], TR_RELATED, related)
    with pytest.raises(InputError, match="build TempRIPPLE for a longer period"):
        write_mquake(facts, related, tmp_path / "none.json")
    assert not (tmp_path / "none.json").exists()
