"""What a stated date and a dated result of a search do: planted models and a scripted server are measured."""

import datetime
import json
import random
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from models.tokenizers_of import tokenizer_of
from support.chat_server import chat_serving
from support.commands import files, printed

from factdrift.core.keys import default_of, read_settings
from factdrift.core.paths import CUTOFF_CHAINS
from factdrift.core.tables import write_parquet
from factdrift.evaluation.questions.cutoff import CHAINS, SAMPLE_DATES, drawn, holder_on, read_chains
from factdrift.evaluation.questions.question import Question
from factdrift.evaluation.questions.tenures import changes
from factdrift.evaluation.scores.cutoff import CutoffSettings, span_of
from factdrift.evaluation.scores.cutoff_answers import ANSWERS
from factdrift.evaluation.scores.stated import ITEMS, STATED, items, shares, shift, trust
from factdrift.evaluation.session import Session
from factdrift.evaluation.settings import Settings
from factdrift.evaluation.states.stated import Stated, day_text, today, tool
from factdrift.streams.timelines import day_number

Row = dict[str, Any]
OWN = datetime.date(2018, 6, 15)
SETTINGS = CutoffSettings(span_of(SAMPLE_DATES), 0, draws=200, permutations=199)
ALL = [row for row in read_chains(CUTOFF_CHAINS) if row["died"] is None]
DAY = re.compile(r"^Date: (.*)$", re.M)


def some(number: int) -> list[Row]:
    names = drawn(ALL, number, 1)
    return [row for row in ALL if row["chain"] in names]


def answers_of(stated: Stated, choose: Callable[[str, Row, str], int | None]) -> dict[str, list[Row]]:
    """State -> rows of ANSWERS whose choices a function makes from state, chain and text."""
    bare = dict.fromkeys(ANSWERS.names) | {"model": "m", "way": "likelihood"}
    answers = {}
    for state in ("none", *stated.texts):
        texts = stated.texts.get(state) or dict.fromkeys((row["chain"] for row in stated.rows), "")
        rows = [row for row in stated.rows if row["chain"] in texts]
        answers[state] = [
            {**bare, **{name: row[name] for name in CHAINS.names if name in bare}}
            | {"choice": choose(state, row, texts[row["chain"]])}
            for row in rows
        ]
    return answers


def number(rows: list[Row], state: str, part: str, measure: str) -> Row:
    (row,) = (row for row in rows if (row["state"], row["part"], row["measure"]) == (state, part, measure))
    return row


def day_of(text: str) -> datetime.date:
    return datetime.datetime.strptime(text, "%d %B %Y").date()


def test_today_has_days_around_the_own_date_with_the_same_days_in_the_control():
    chains = some(40)
    stated = today(chains, datetime.date(2020, 2, 29), SAMPLE_DATES)
    labels = ["-10", "-3", "-1", "+0", "+1", "+3", "+10", "1789-07-14", "2345-06-07"]
    assert [*stated.texts] == [f"{name}={label}" for name in ("today", "library") for label in labels]
    assert set(stated.texts["today=-3"].values()) == {"Today is 28 February 2017. "}
    assert set(stated.texts["library=+0"].values()) == {"The library opened on 28 February 2020. "}
    assert set(stated.texts["today=1789-07-14"].values()) == {"Today is 14 July 1789. "}
    for row in chains:
        day = datetime.date(2017, 2, 28)
        (item,) = [item for item in stated.items if (item.state, item.chain) == ("today=-3", row["chain"])]
        assert item.holder == holder_on(row, day)
        near = any(abs(day_number(change.day) - day.toordinal()) <= 366 for change in changes(row))
        assert item.parts == (["near"] if near else [])
    assert {item.holder for item in stated.items if item.state in ("today=+10", "today=-10")} == {None}
    without = today(chains, None, SAMPLE_DATES)
    assert [*without.texts] == [f"{name}={day}" for name in ("today", "library") for day in labels[-2:]]


def test_the_results_of_a_search_are_what_their_condition_says():
    stated = tool(ALL, OWN, 3)
    rows, original = {row["chain"]: row for row in stated.rows}, {row["chain"]: row for row in ALL}
    counts = Counter(item.state for item in stated.items)
    assert counts["tool=newer_true"] == counts["tool=undated"] == len(rows) > 900
    assert counts["tool=older"] == counts["tool=conflict"] > 500
    for item in stated.items:
        text, row = stated.texts[item.state][item.chain], rows[item.chain]
        holder, own = row["holders"][item.holder], original[item.chain]["holders"]
        days = [day_of(day) for day in DAY.findall(text)]
        title = f"Search result: {row['subject_label']}\n"
        assert f"{holder['label']}. Many people" in text
        assert text.startswith(title) != (item.state == "tool=beside")
        match item.state.partition("=")[2]:
            case "newer_true":
                assert days[0] > OWN
                assert holder_on(row, days[0]) == item.holder
            case "newer_false" | "beside":
                assert days[0] > OWN
                assert holder["tenures"] == []
                assert holder["label"] not in {
                    label for each in own for label in (each["label"], *each["aliases"])
                }
            case "older":
                assert days[0] <= OWN
                assert holder_on(row, days[0]) == item.holder != holder_on(row, OWN)
            case "undated":
                assert days == []
            case "conflict":
                assert min(days) <= OWN < max(days)
                assert holder_on(row, max(days)) == item.holder
    for condition in counts:
        sources = Counter(part for item in stated.items if item.state == condition for part in item.parts)
        each = [sources[f"source {name}"] for name in ("encyclopedia", "newspaper", "none")]
        assert max(each) - min(each) <= 1
        named = [text for text in stated.texts[condition].values() if "Source: " in text]
        assert len(named) == each[0] + each[1]
    first = [
        text.index(max(DAY.findall(text), key=day_of)) for text in stated.texts["tool=conflict"].values()
    ]
    assert 0.4 < sum(place < 120 for place in first) / len(first) < 0.6
    again, other = tool(ALL, OWN, 3), tool(ALL, OWN, 4)
    assert (again.texts, again.items, again.rows) == (stated.texts, stated.items, stated.rows)
    assert other.texts != stated.texts
    nothing = tool(ALL, None, 3)
    assert (list(nothing.rows), nothing.texts, nothing.items) == ([], {}, [])


@pytest.mark.parametrize("listens", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_model_that_lives_where_it_is_told_has_a_shift_of_1_and_a_deaf_one_of_0(listens):
    stated = today(some(120), OWN, SAMPLE_DATES)
    first, last = SAMPLE_DATES

    def choose(state: str, row: Row, _: str) -> int | None:
        day = min(max(stated.days[state], first), last) if listens and state.startswith("today") else OWN
        return holder_on(row, day)

    answers = answers_of(stated, choose)
    rows = list(shift(stated, answers, OWN, SETTINGS))
    for side in ("before", "after"):
        row = number(rows, "today", side, "shift")
        assert row["low"] - 0.02 <= listens <= row["high"] + 0.02
        assert abs(number(rows, "library", side, "shift")["mean"]) < 0.02
        less = number(rows, "today", side, "shift_less_control")
        assert abs(less["mean"] - listens) < 0.05
    made = items(stated, answers)
    of_state = list(shares(made, len(stated.rows)))
    for state in ("today=-3", "today=-1", "today=+1", "today=+3"):
        assert number(of_state, state, "counted", "taken" if listens else "kept")["mean"] == 1
        counted = number(of_state, state, "counted", "taken")
        assert counted["n"] + counted["left_out"] == len(stated.rows)
        assert 0 < number(of_state, state, "near", "taken")["n"] <= counted["n"]
    for state, day in ((state, day) for state, day in stated.days.items() if first <= day <= last):
        moved = [holder_on(row, day) != holder_on(row, OWN) for row in stated.rows]
        expected = sum(moved) / len(moved) * (listens and state.startswith("today"))
        assert number(of_state, state, "answered", "changed")["mean"] == pytest.approx(expected)
    for row in (row for row in made if row["counted"] and row["state"] == "today=-3"):
        chain = next(each for each in stated.rows if each["chain"] == row["chain"])
        assert holder_on(chain, OWN) != holder_on(chain, stated.days["today=-3"])
    assert number(of_state, "today=2345-06-07", "answered", "changed")["mean"] == pytest.approx(
        sum(holder_on(row, last) != holder_on(row, OWN) for row in stated.rows) / len(stated.rows) * listens
    )


def test_trust_in_time_is_1_for_who_takes_what_is_newer_and_0_with_shuffled_dates():
    stated = tool(ALL, OWN, 0)

    def choose(state: str, row: Row, text: str) -> int | None:
        """The holder of the newest result that is newer than the own date; else that of the own date."""
        results = [result for result in text.split("\n\n") if result]
        dated = [(day_of(DAY.search(result)[1]), result) for result in results if DAY.search(result)]
        if not dated or max(dated)[0] <= OWN:
            return holder_on(row, OWN)
        labels = [holder["label"] for holder in row["holders"]]
        return max(
            range(len(labels)), key=lambda at: (f" {labels[at]}. Many" in max(dated)[1], len(labels[at]))
        )

    def trusted() -> dict[str, Row]:
        made = items(stated, answers_of(stated, choose))
        return {row["measure"]: row for row in trust(made, SETTINGS)}

    assert trusted()["trust"]["mean"] == trusted()["gullibility"]["mean"] == 1
    days = [day for of in stated.texts.values() for text in of.values() for day in DAY.findall(text)]
    random.Random(5).shuffle(days)
    fresh = iter(days)
    for of in stated.texts.values():
        for chain, text in of.items():
            of[chain] = DAY.sub(lambda _: f"Date: {next(fresh)}", text)
    row = trusted()["trust"]
    assert row["low"] <= 0 <= row["high"]
    assert abs(row["mean"]) < 0.05


SCRIPT = {
    "take": ("It is {new}.", "taken", []),
    "ignore": ("It is {own}.", "kept", []),
    "doubt": ("It is {new}, but I cannot verify this.", "taken", ["doubted"]),
    "deny": ("That is not correct. It is {own}.", "kept", ["denied"]),
    "fiction": ("It is {own}. The search result appears to be fictional.", "kept", ["fictional"]),
    "refuse": ("I do not know.", "refused", []),
    "other": ("It is Zebulon Quux.", "other", []),
    "future": ("I cannot know who will hold the office then.", "refused", ["unknown_future"]),
}
"""Behaviour -> what the scripted server writes, the outcome, and the marks besides `changed`."""


def table_of(folder: Path, chains: list[Row]) -> list[str]:
    write_parquet(pa.Table.from_pylist(chains, CHAINS), folder / "chains.parquet")
    return [f"--chains={folder / 'chains.parquet'}", f"--store={folder / 'store'}"]


@pytest.mark.slow
def test_a_scripted_chat_server_is_measured_as_scripted_to_the_item(tmp_path):
    chains = some(90)
    own = {
        row["prompts"][0]: row["holders"][holder_on(row, OWN)]["label"]
        for row in chains
        if holder_on(row, OWN) is not None
    }
    behaviours = [*SCRIPT]
    script = {row["prompts"][0]: behaviours[at % len(behaviours)] for at, row in enumerate(chains)}

    def answer(body: Row) -> str:
        asked, *rest = body["messages"]
        prompt = asked["content"].partition(" ____")[0].rpartition(": ")[2]
        if not rest:
            return f"It is {own[prompt]}." if prompt in own else "It is Zebulon Quux."
        call, result = rest
        (made,) = call["tool_calls"]
        assert (call["role"], result["role"], made["function"]["name"]) == ("assistant", "tool", "search")
        assert result["tool_call_id"] == made["id"]
        assert json.loads(made["function"]["arguments"]) == {"query": prompt}
        assert "Many people" not in asked["content"]
        newest = max(
            result["content"].split("\n\n"),
            key=lambda text: day_of(DAY.search(text)[1]) if DAY.search(text) else OWN,
        )
        new = next(name for name in names if f" {name}. Many" in newest)
        return SCRIPT[script[prompt]][0].format(new=new, own=own.get(prompt, "Zebulon Quux"))

    names = sorted({each["label"] for row in ALL for each in row["holders"]}, key=len, reverse=True)
    line = ["stated", "loopback", "--state=tool", f"--date={OWN}", *table_of(tmp_path, chains)]
    kept = [files(tmp_path, items=f"{run}.items", output=f"{run}.table") for run in "ab"]
    with chat_serving(answer=answer) as server:
        said = printed(*line, f"--address={server.url}", *kept[0])
    rows = pq.read_table(tmp_path / "a.items", schema=ITEMS).to_pylist()
    stated = tool(chains, OWN, default_of("seed"))
    prompts = {row["chain"]: row["prompts"][0] for row in chains}
    assert [(row["state"], row["chain"]) for row in rows] == [item[:2] for item in stated.items]
    wrong = []
    for row in (row for row in rows if prompts[row["chain"]] in own):
        text, outcome, marks = SCRIPT[script[prompts[row["chain"]]]]
        changed = [] if "{own}" in text else ["changed"]
        if not row["counted"] or (row["outcome"], row["marks"]) != (outcome, [*changed, *marks]):
            wrong.append(f"{row['state']} {row['output']!r}: {row['outcome']} {row['marks']}")
    assert not wrong, "\n".join(wrong)
    numbers = pq.read_table(tmp_path / "a.table", schema=STATED).to_pylist()
    for state in dict.fromkeys(row["state"] for row in rows):
        counted = [row for row in rows if row["state"] == state and row["counted"]]
        for measure in ("taken", "kept", "refused", "doubted", "denied", "fictional"):
            hits = sum(measure in (row["outcome"], *row["marks"]) for row in counted)
            assert number(numbers, state, "counted", measure)["mean"] == pytest.approx(hits / len(counted))
    assert (
        f"tool=newer_true, counted (n {number(numbers, 'tool=newer_true', 'counted', 'taken')['n']})" in said
    )
    # From the store alone the same bytes.
    printed(*line, "--address=http://127.0.0.1:9/v1", '--chat={"mode": "replay"}', *kept[1])
    for name in ("items", "table"):
        assert (tmp_path / f"a.{name}").read_bytes() == (tmp_path / f"b.{name}").read_bytes()


def test_today_stands_in_the_system_turn_of_a_chat_or_quoted_in_the_users(tmp_path):
    chains = some(12)
    line = ["stated", "loopback", f"--date={OWN}", *table_of(tmp_path, chains)]
    line += files(tmp_path, items="items", output="table")

    def answer(body: Row) -> str:
        day = next((each["content"] for each in body["messages"] if each["role"] == "system"), "")
        return "I cannot know who will hold the office then." if "2028" in day else "It is Zebulon Quux."

    with chat_serving(answer=answer) as server:
        printed(*line, f"--address={server.url}")
        firsts = [json.loads(body)["messages"][0] for body in server.asked]
        systems = Counter(first["content"] for first in firsts if first["role"] == "system")
        assert systems[f"Today is {day_text(OWN)}."] == systems["Today is 14 July 1789."] == len(chains)
        assert len(systems) == 18
        rows = pq.read_table(tmp_path / "items").to_pylist()
        unknown = {row["state"] for row in rows if row["marks"] == ["unknown_future"]}
        assert unknown == {"today=+10", "library=+10"}
        table = pq.read_table(tmp_path / "table").to_pylist()
        assert number(table, "today=+10", "answered", "refused")["mean"] == 1
        assert number(table, "today=2345-06-07", "answered", "refused")["mean"] == 0
        server.asked.clear()
        printed(*line, f"--address={server.url}", "--quoted", f"--store={tmp_path / 'other'}")
        texts = [message["content"] for body in server.asked for (message,) in [json.loads(body)["messages"]]]
        assert sum(text.startswith("Today is 14 July 1789.") for text in texts) == len(chains)


CHATML = (
    "{% for m in messages %}<{{ m.role }}>{% for call in m.tool_calls or [] %}CALLS{% endfor %}"
    "{{ m.content }}</{{ m.role }}>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
)
CALLING = CHATML.replace("CALLS", "{{ call.function.name }}({{ call.function.arguments | tojson }})")
CALL = 'search({"query": "Who?"})'
NO_SYSTEM = "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}" + CHATML


@pytest.mark.parametrize(
    ("template", "turn", "expected"),
    [
        (CHATML, "system", "<system>Told.</system><user>Who?</user><assistant>"),
        (NO_SYSTEM, "system", "<user>Told. Who?</user><assistant>"),
        (CHATML, "tool", "<user>Told. Who?</user><assistant>"),
        (CALLING, "tool", f"<user>Who?</user><assistant>{CALL}</assistant><tool>Told.</tool><assistant>"),
        (CALLING, "", "<user>Told. Who?</user><assistant>"),
    ],
)
def test_a_local_model_reads_the_text_in_the_turn_that_its_template_has(template, turn, expected):
    tokenizer = tokenizer_of("gpt2")
    tokenizer.chat_template = template
    settings = read_settings("{}", Settings, "edit")
    session = Session(SimpleNamespace(tokenizer=tokenizer, name="m"), settings)
    question = Question("q", words="Who?", turn=turn)
    ids = session.turn(question, "Told.", lambda before: f"{before} Who?".strip())
    assert tokenizer.decode(ids) == expected
    bare = session.turn(question, "", lambda before: f"{before} Who?".strip())
    assert tokenizer.decode(bare) == "<user>Who?</user><assistant>"


def test_an_answer_ends_with_the_turn_whatever_the_configuration_names():
    tokenizer = tokenizer_of("gpt2")
    tokenizer.add_tokens(["<|im_end|>", "<|im_start|>"], special_tokens=True)
    loaded = SimpleNamespace(tokenizer=tokenizer, model=None, name="m")
    ends = Session(loaded, read_settings("{}", Settings, "edit")).ends
    assert ends == {tokenizer.eos_token_id, tokenizer.convert_tokens_to_ids("<|im_end|>")}


def test_without_a_date_of_the_model_what_needs_it_is_left_out_and_counted(tmp_path):
    line = ["stated", "sample", "--state=tool", *table_of(tmp_path, some(12)), f"-o={tmp_path / 'table'}"]
    assert "12 chains are left out of all that needs --date" in printed(*line)
    assert pq.read_table(tmp_path / "table", schema=STATED).num_rows == 0


@pytest.mark.slow
@pytest.mark.parametrize("state", ["today", "tool"])
def test_the_bundled_model_end_to_end_keeps_what_it_was_taught(tmp_path, state):
    line = ["stated", "sample", f"--state={state}", "--date=2021-01-04", *table_of(tmp_path, some(60))]
    for run in "ab":
        printed(*line, *files(tmp_path, items=f"{run}.items", output=f"{run}.table"))
    for name in ("items", "table"):
        assert (tmp_path / f"a.{name}").read_bytes() == (tmp_path / f"b.{name}").read_bytes()
    rows = pq.read_table(tmp_path / "a.table", schema=STATED).to_pylist()
    kept = [row for row in rows if (row["part"], row["measure"]) == ("counted", "kept")]
    assert len(kept) >= 6
    assert min(row["mean"] for row in kept if row["n"] >= 20) > 0.7
    if state == "today":
        assert abs(number(rows, "today", "before", "shift")["mean"]) < 0.2
