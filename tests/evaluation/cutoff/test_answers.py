"""What models answer about who holds: read from replies of each way, and the commands."""

import random
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.commands import files, printed, refusal

from factdrift.cli import main
from factdrift.core.errors import InputError
from factdrift.core.paths import CUTOFF_CHAINS
from factdrift.core.tables import write_parquet
from factdrift.evaluation.questions.cutoff import CHAINS, SAMPLE_DATES, questions_of, read_chains
from factdrift.evaluation.questions.question import Question
from factdrift.evaluation.scores.cutoff import CutoffSettings, declared, span_of, tables
from factdrift.evaluation.scores.cutoff_answers import ANSWERS, holder_named, read_answers
from factdrift.evaluation.tables import ANSWERS as REPLIES

Row = dict[str, Any]
SEED = 5


def some(every: int) -> list[Row]:
    return read_chains(CUTOFF_CHAINS)[::every]


def replied(folder: Path, chains: list[Row], way: str, reply: Callable[[Question], Row]) -> list[Row]:
    """Rows of ANSWERS from replies that a function gives to the questions of a way."""
    rows = [
        {"model": "m", "way": way, "question": question.id, **reply(question)}
        for _, own in questions_of(chains, SEED)
        for question in own
        if way in question.ways
    ]
    write_parquet(pa.Table.from_pylist(rows, REPLIES), folder / "replies.parquet")
    (answers,) = read_answers(folder / "replies.parquet", chains, SEED)
    return answers


def test_a_likelihood_is_the_mean_over_the_wordings_less_that_after_neutral_prompts(tmp_path):
    chains, draw, given = some(7), random.Random(1), dict[str, Row]()
    kinds: dict[tuple[str, str], list[str | None]] = {}

    def reply(question: Question) -> Row:
        drawn = draw.choice([[None], [None, "too_long"], ["too_long", "target_merged"], [None, "not_finite"]])
        reason = draw.choice(kinds.setdefault((question.id.partition("#")[0], question.role), drawn))
        logprobs = None if reason else [round(-draw.random(), 1) for _ in question.targets]
        given[question.id] = {"reason": reason, "logprobs": logprobs}
        return given[question.id]

    answers = replied(tmp_path, chains, "loglik", reply)
    seen = set()
    for row, (asked, questions) in zip(answers, questions_of(chains, SEED), strict=True):
        assert {name: row[name] for name in CHAINS.names if name in row} == {
            name: asked[name] for name in CHAINS.names if name in row
        }
        assert (row["model"], row["way"], row["output"]) == ("m", "likelihood", None)
        of = {
            role: [given[question.id] for question in questions if question.role == role]
            for role in ("wording", "neutral")
        }
        reasons = {role: [each["reason"] for each in own if each["reason"]] for role, own in of.items()}
        scored = {role: [each["logprobs"] for each in own if not each["reason"]] for role, own in of.items()}
        calibrated = bool(scored["neutral"]) and "not_finite" not in reasons["neutral"]
        if "not_finite" in reasons["wording"]:
            expected: Row = {"reason": "not_finite"}
        elif not scored["wording"]:
            expected = {"reason": reasons["wording"][0]}
        else:
            own = [sum(column) / len(column) for column in zip(*scored["wording"], strict=True)]
            expected = {"wordings": scored["wording"], "scores": pytest.approx(own)}
            choice = row["scores"].index(max(row["scores"]))
            expected |= {"choice": choice, "reason": None}
            if calibrated:
                neutral = [sum(column) / len(column) for column in zip(*scored["neutral"], strict=True)]
                less = [mine - other for mine, other in zip(row["scores"], row["neutral"], strict=True)]
                expected |= {"neutral": pytest.approx(neutral), "calibrated": less.index(max(less))}
                expected["likely"] = row["neutral"].index(max(row["neutral"]))
        names = ("wordings", "scores", "choice", "reason", "neutral", "calibrated", "likely")
        assert {name: row[name] for name in names} == {**dict.fromkeys(names), **expected}
        seen.add((row["reason"], calibrated))
    assert {reason for reason, _ in seen} == {None, "too_long", "target_merged", "not_finite"}
    assert {calibrated for _, calibrated in seen} == {True, False}


def test_a_letter_names_the_holder_that_has_it_in_both_orders(tmp_path):
    (first, *others), draw = some(9), random.Random(2)
    many = {**first, "chain": "many"}
    many["holders"] = [{**first["holders"][0], "label": f"N{number}"} for number in range(27)]
    chains, given = [many, *others], dict[str, Row]()

    def reply(question: Question) -> Row:
        parsed = draw.choice([None, *[0, 1] * 4])
        given[question.id] = {"parsed": parsed, "reason": draw.choice([None] * 9 + ["failed"])}
        return given[question.id]

    answers = replied(tmp_path, chains, "letter", reply)
    for row, (asked, questions) in zip(answers, questions_of(chains, SEED), strict=True):
        own = [(given[each.id], each.targets) for each in questions if each.role == "letter"]
        named = [None if got["parsed"] is None else targets[got["parsed"]] for got, targets in own]
        expected: tuple[str | None, str | None] = (None, "order")
        if not own:
            expected = (None, "too_many")
        elif any(got["reason"] for got, _ in own):
            expected = (None, "failed")
        elif None in named:
            expected = (None, "no_letter")
        elif named[0] == named[1]:
            expected = (named[0], None)
        choice = None if row["choice"] is None else asked["holders"][row["choice"]]["label"]
        assert (choice, row["reason"]) == expected
        assert (row["way"], row["scores"]) == ("letter", None)
    reasons = {row["reason"] for row in answers}
    assert reasons == {None, "order", "no_letter", "failed", "too_many"}


def test_the_holder_that_is_written_is_the_choice_and_dates_of_death_are_not_asked(tmp_path):
    chains = some(40)
    last = {row["chain"]: row["holders"][-1]["label"] for row in chains}
    living = [row["chain"] for row in chains if row["died"] is None]
    said = {
        chain: [f"It is {last[chain]}.", "I do not know.", None][number % 3]
        for number, chain in enumerate(living)
    }

    def reply(question: Question) -> Row:
        return {"output": said[question.id], "reason": None if said[question.id] else "too_long"}

    answers = replied(tmp_path, chains, "written", reply)
    assert [row["chain"] for row in answers] == living
    for number, row in enumerate(answers):
        named = [(len(row["holders"]) - 1, None), (None, "unnamed"), (None, "too_long")][number % 3]
        assert (row["choice"], row["reason"], row["output"]) == (*named, said[row["chain"]])


def test_the_first_holder_that_a_text_asserts_is_the_answer():
    names = ("Ann Old", ["Annabel Old"]), ("Bo New", []), ("Cy Next", [])
    holders = [{"label": label, "aliases": aliases} for label, aliases in names]
    for index, outputs in (
        (0, ["Annabel Old, who won the election", "It was Ann Old."]),
        (1, ["Not Ann Old but Bo New.", "Bo New and Ann Old", "Ann Old was succeeded by Bo New."]),
        (2, ["The mayor of Lake is Cy Next.", "Next"]),
        (None, ["Dee Other", "I do not know.", "a city in the north of the country", ""]),
    ):
        for output in outputs:
            assert holder_named({"holders": holders, "prompts": ["The mayor of Lake is"]}, output) == index


def test_answers_to_other_questions_are_refused(tmp_path):
    chains = some(80)
    replied(tmp_path, chains, "letter", lambda _: {"parsed": 0})
    with pytest.raises(InputError, match="no answers to the questions about these chains; ask again"):
        read_answers(tmp_path / "replies.parquet", some(60), SEED)
    assert read_answers(tmp_path / "replies.parquet", chains, SEED)


def holders_of(chains: list[Row], day: int) -> dict[str, str]:
    """Prompt -> who held on a day."""
    return {
        row["prompts"][0]: holder["label"]
        for row in chains
        for holder in row["holders"]
        for tenure in holder["tenures"]
        if (tenure["first"] or 0) <= day <= (tenure["last"] or 99999999)
    }


def test_a_bias_to_a_letter_hides_no_date(tmp_path):
    """Of a model that knows a few chains as of a day, and answers all others with B."""
    chains = [row for row in some(1) if row["died"] is None]
    chance = random.Random(0)
    known = {prompt: name for prompt, name in holders_of(chains, 20190701).items() if chance.random() < 0.15}

    def reply(question: Question) -> Row:
        name = known.get(question.prompt)
        return {"parsed": question.targets.index(name) if name in question.targets else 1}

    rows = replied(tmp_path, chains, "letter", reply)
    (whole, *_), _ = tables(rows, CutoffSettings(span_of(SAMPLE_DATES), 5))
    assert {row["reason"] for row in rows} == {None, "order"}
    assert whole["low"] <= "2019-07-01" <= whole["high"]
    assert (whole["latest"], whole["eps"]) == ("2019-Q2", 0)


@pytest.mark.parametrize("letter", [0, *(pytest.param(letter, marks=pytest.mark.slow) for letter in (1, 2))])
@pytest.mark.parametrize("share", [1.0, 0.5])
def test_one_letter_always_or_half_the_time_is_neither_a_date_nor_latest_knowledge(letter, share, tmp_path):
    """A model that gives the letter in that share of its answers, and any letter in the others."""
    draw = random.Random(f"{letter}/{share}")

    def reply(question: Question) -> Row:
        count = len(question.targets)
        return {"parsed": min(letter, count - 1) if draw.random() < share else draw.randrange(count)}

    rows = replied(tmp_path, some(1), "letter", reply)
    answered = [row for row in rows if row["choice"] is not None]
    assert (not answered) if share == 1 else len(answered) > 300
    dates, _ = tables(rows, CutoffSettings(span_of(SAMPLE_DATES), 5, draws=100, permutations=200))
    assert {(row["verdict"], row.get("latest")) for row in dates} == {("none", None)}
    assert dates[0]["subset"] == "all"
    assert dates[0]["informative"] == sum(row["died"] is None for row in answered)


def test_a_model_that_names_no_holder_is_said_to_have_no_date(tmp_path):
    deaths = [row for row in some(1) if row["died"] is not None][:60]

    def run(chains: list[Row]) -> str:
        write_parquet(pa.Table.from_pylist(chains, CHAINS), tmp_path / "chains.parquet")
        paths = files(tmp_path, chains="chains.parquet", answers="replies.parquet", output="dates")
        paths += files(tmp_path, out_answers="all", figure="dates.svg")
        return printed("cutoff", "dates", *paths, "--dates", *SAMPLE_DATES, "--seed", SEED)

    replied(tmp_path, some(80), "letter", lambda _: {"reason": "failed"})
    said = f"replies.parquet: no chain was answered; {tmp_path / 'all'} has the reasons"
    assert said in run(some(80))
    assert pq.read_table(tmp_path / "dates").num_rows == 0
    replied(tmp_path, some(80), "letter", lambda _: {"parsed": None})
    assert "m (letter): no date can be told (p 1.000)\n" in run(some(80))
    assert pq.read_table(tmp_path / "dates")["verdict"].to_pylist() == ["none"]
    # One that only dates of death are known of.
    replied(tmp_path, deaths, "letter", lambda asked: {"parsed": asked.targets.index(min(asked.targets))})
    assert "m (letter): no chain was answered\n  by 60 dates of death: no date" in run(deaths)
    assert pq.read_table(tmp_path / "all").schema.equals(ANSWERS)


@pytest.mark.slow
def test_the_shipped_model_answers_as_of_what_it_was_taught_and_has_no_date_with_names_shuffled(tmp_path):
    living = [row for row in some(4) if row["died"] is None]
    write_parquet(pa.Table.from_pylist(living, CHAINS), tmp_path / "chains.parquet")
    options = [f"--{name}={tmp_path / name}.parquet" for name in ("chains", "answers")]
    assert main(["cutoff", "sample", *options, "-o", str(tmp_path / "date.svg")]) == 0
    lived = pq.read_table(tmp_path / "answers.parquet").to_pylist()

    def whole_of(rows: list[Row]) -> dict[str, Row]:
        """Reading -> its row of TABLE about all chains, without those by wording and popularity."""
        bare = [{**row, "wordings": None, "popularity": None} for row in rows]
        dates, _ = tables(bare, CutoffSettings(span_of(SAMPLE_DATES), 0, draws=400, permutations=200))
        return {row["reading"]: row for row in dates if row["subset"] == "all"}

    for row in whole_of(lived).values():
        assert row["low"] <= declared("sample")[0] <= row["high"]
    assert main(["cutoff", "sample", "--way=letter", *options, "-o", str(tmp_path / "letters.svg")]) == 0
    lettered = pq.read_table(tmp_path / "answers.parquet").to_pylist()
    assert [(row["chain"], row["way"]) for row in lettered] == [(row["chain"], "letter") for row in living]
    assert {row["verdict"] for row in whole_of(lettered).values()} == {"none"}
    draw = np.random.default_rng(1)
    shuffled = []
    for row in lived:
        order = draw.permutation(len(row["holders"]))
        tenures = [row["holders"][index]["tenures"] for index in order]
        holders = [{**each, "tenures": own} for each, own in zip(row["holders"], tenures, strict=True)]
        shuffled.append({**row, "holders": holders})
    assert {row["verdict"] for row in whole_of(shuffled).values()} == {"none"}


def test_what_cannot_be_asked_is_refused_before_a_model_is_loaded(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("text").write_text("chains")
    write_parquet(pa.table({"x": [1]}), Path("other"))
    for given, message in (
        ("--dates 2012-01-01", "--dates: give the first and the last date"),
        ("--dates 2020-01-01 2012-01-01", "--dates: give the first and the last date"),
        ("--dates 2020-01-01 2020-01-01", "--dates: give the first and the last date"),
        ("--chat {}", "--chat: no chat model is asked; give the address of its server"),
        ("--address http://127.0.0.1:9 --way likelihood", "--way likelihood: a chat model gives none"),
        ("--maker soon", "--maker: 'soon' is no date; write 2023, 2023-12 or 2023-12-31"),
        ("-o date.gif", "date.gif: a figure ends in .svg, .pdf, .png"),
        ("--chains 200", "--chains 200: there is no such file; for a number of chains write --limit 200"),
        ("--chains text", "text: it is no Parquet file; make it with `cutoff chains`"),
        ("--chains other", "make it with `cutoff chains`"),
    ):
        assert message in refusal("cutoff", "sample", *given.split())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "text"]


def test_the_makers_date_is_that_of_the_longest_beginning_of_a_name_and_has_a_source():
    assert declared("meta-llama/Meta-Llama-3-8B-Instruct")[0] == "2023-03"
    assert declared("meta-llama/Meta-Llama-3.1-8B")[0] == "2023-12"
    date, source = declared("Qwen/Qwen3-4B")
    assert (date, source[:24]) == ("", "QwenLM/Qwen3, issue 1554")
    assert declared("someone/unknown") == ("", "")
    table = (CUTOFF_CHAINS.parent / "makers.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in table[1:]]
    assert all(before[0] < after[0] for before, after in pairwise(rows))
    assert all(source for *_, source in rows)
