"""Prompts for items, letters that are read from what a model writes, and a chat model behind a server."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from support.benchmarks import write_benchmarks
from support.chat_server import ChatServer, chat_serving
from support.commands import chatted, files, printed, refusal, sending
from support.questions import items, write_tables
from support.rows import rows as read

import factdrift
from factdrift.core.errors import InputError
from factdrift.core.keys import default_of, read_settings
from factdrift.evaluation.questions.items import read_items
from factdrift.evaluation.questions.letters import LETTERS, chosen, listed
from factdrift.evaluation.questions.prompts import cloze_of, filled
from factdrift.evaluation.questions.question import Question
from factdrift.evaluation.settings import Settings

PROMPT = default_of("answer.prompts.letter")
OF_ITEMS = ("--benchmark", "tempripple", "--questions")


def knowing(body: dict[str, Any]) -> str:
    """Copies the name that the context gives, if an option has it; says nothing useful otherwise."""
    (turn,) = body["messages"]
    first, *rest = turn["content"].splitlines()
    options = dict(line.split(". ", 1) for line in rest if line[:3] in ("A. ", "B. ", "C. ", "D. "))
    for letter, option in options.items():
        if first.endswith(f" is {option}."):
            return f"The answer is ({letter})."
    return "I do not know."


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_serving(answer=knowing) as serving:
        yield serving


class Bench:
    def __init__(self, folder: Path, url: str):
        self.folder, (self.items, _) = folder, write_tables(folder)
        self.chat = {"model": "tiny", "base_url": url, "backoff": 0.01, "tries": 2, "answer_tokens": 16}

    def of(self, *words: object) -> list[object]:
        """Options that name questions, those of TempRIPPLE if no words name others."""
        named = words if "--questions" in words else (*OF_ITEMS, self.items, *words)
        return [*named, "--prompt", PROMPT]

    def ask(self, *words: object, **chat: Any) -> list[dict[str, Any]]:
        return chatted(self.folder, self.of(*words), **{**self.chat, **chat})


def test_letters_are_read_from_the_answers(tmp_path, server):
    bench = Bench(tmp_path, server.url)
    first = bench.ask()
    rows = {(row["method"], row["question"]): row for row in first}
    chosen = read_items(bench.items)
    assert len(rows) == 2 * len(chosen) == 20
    for item in chosen:
        without, told = rows["none", item["item_id"]], rows["context", item["item_id"]]
        assert (without["output"], without["parsed"], without["correct"]) == ("I do not know.", None, False)
        named = item["context"].rpartition(" is ")[2].removesuffix(".")
        assert told["parsed"] == (item["options"].index(named) if named in item["options"] else None)
        assert told["correct"] == (item["answer_label"] == named)
        assert (told["model"], told["way"]) == ("tiny", "letter")
    about = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))
    assert about["served"] == ["tiny-2026-01-01"]
    assert about["answer_prompts_letter"] == PROMPT
    assert len(about["run_id"]) == 16
    # Stored answers are read again without a server.
    asked = sum(server.asked.values())
    assert bench.ask(mode="replay") == first
    assert sum(server.asked.values()) == asked
    # Answers to other questions are refused.
    replies = tmp_path / "replies.parquet"
    pq.write_table(pq.read_table(replies).slice(1), replies)
    line = [
        "answer",
        "read",
        *bench.of(),
        *files(tmp_path, answers="replies.parquet", out_run="r", output="o"),
    ]
    said = refusal(*line, "--settings", json.dumps(bench.chat))
    assert "no answers to the questions about these items" in said


def test_some_items_of_each_task_and_number_of_hops_are_asked(tmp_path, server):
    bench = Bench(tmp_path, server.url)
    everything = read_items(bench.items)
    kinds = Counter((item["task"], item["hop"]) for item in everything)
    assert max(kinds.values()) > 2
    some = read_items(bench.items, 2)
    chosen = Counter((item["task"], item["hop"]) for item in some)
    assert chosen == {kind: min(number, 2) for kind, number in kinds.items()}
    assert [item for item in everything if item in some] == some == read_items(bench.items, 2)
    assert [item for item in read_items(bench.items, 1) if item in some] == read_items(bench.items, 1)
    assert any(read_items(bench.items, 2, seed) != some for seed in range(1, 9))
    asked = bench.ask("--limit", 2, "--seed", 0)
    assert {row["question"] for row in asked} == {item["item_id"] for item in some}


def test_refusals_are_wrong_and_failures_do_not_count(tmp_path, server):
    def fault(path: str, body: dict[str, Any], attempt: int) -> str | None:
        said = body["messages"][0]["content"]
        return "refusal" if "Atlantis" in said else "500" if "America" in said else None

    server.fault = fault
    bench = Bench(tmp_path, server.url)
    text = printed(*sending(tmp_path, bench.of(), **bench.chat))
    rows = bench.ask()
    failed = sum(row["reason"] == "failed" for row in rows)
    # What begins so is shown in the terminal, too.
    said = next(line for line in text.splitlines() if line.startswith("factdrift: "))
    assert f"{failed} of 20 requests to tiny failed and have no answer" in said
    subject = {item["item_id"]: item["s"] for item in items()}
    for row in rows:
        of = subject[row["question"]]
        assert row["reason"] == ("failed" if of == "Q2" else None)
        assert row["correct"] is None if of == "Q2" else row["correct"] is not None
        assert of != "Q1" or (row["parsed"], row["correct"]) == (None, False)


def test_every_benchmark_is_asked(tmp_path, server):
    bench = Bench(tmp_path, server.url)
    for name, given in write_benchmarks(tmp_path).items():
        # Updates have no options, and are written whatever the ways are.
        ways = () if name == "updates" else ("--scoring", "letter", "written")
        rows = bench.ask("--benchmark", name, *given.options(), *ways)
        questions = given.read(name).questions
        assert all(row["output"] and row["benchmark"] == name for row in rows)
        asked = {row["question"]: row["way"] for row in rows}
        times = Counter((row["method"], row["question"]) for row in rows)
        # What only a model that was told nothing is asked has no context.
        states = ("none",) if name == "cutoff" else ("none", "context")
        states += ("retrieved-right", "retrieved-bm25") if name == "corpus" else ()
        assert times == Counter((state, each) for state in states for each in asked), name
        # Of holders nothing but likelihoods is asked for after other wordings and neutral prompts.
        likely = ("wording", "neutral") if name == "cutoff" else ("update", "generalization")
        for question in questions:
            if question.id in asked or question.role not in likely:
                assert asked[question.id] == ("letter" if "letter" in question.ways else "written")
        assert {each.edit for each in questions if each.id in asked} == {each.edit for each in questions}
        sent = {row["request"]: row["body"] for row in read(tmp_path / "requests.parquet")}
        for question in questions:
            if question.id in asked and (name, question.role) == ("updates", "update"):
                text = json.loads(sent[f"context {question.id}"])["messages"][0]["content"]
                assert text.startswith(f"{question.context.strip()}\nComplete the statement"), name
                assert text.endswith(question.prompt)


WORDS = "Who was the previous mayor of {options}?"
ITEM = Question("i", words=WORDS, targets=("Ann", "Bo {cloze}", "C", "D. E"))
LISTED = "A. Ann\nB. Bo {cloze}\nC. C\nD. D. E"


def test_the_default_prompts():
    settings = read_settings("{}", Settings, "edit")
    told = filled(settings.answer_prompts_letter, ITEM, "It is so.")
    end = f"{WORDS}\n{LISTED}\nAnswer with the letter A, B, C or D only.\nAnswer:"
    assert told == f"It is so.\n{end}"
    assert filled(settings.answer_prompts_letter, ITEM) == end
    assert filled(settings.answer_prompts_loglik, ITEM, "It is so.") == (
        "It is so. The previous mayor of {options} was"
    )
    assert filled(settings.answer_prompts_loglik, ITEM) == "The previous mayor of {options} was"


def test_questions_become_clozes_and_nothing_else_does():
    assert cloze_of("Who is the most recent mayor of Is It?") == "The most recent mayor of Is It is"
    day, asked = "As of 31 December 2022", "the third most recent sports team of Who, Me"
    assert cloze_of(f"{day}, what was {asked}?") == f"{day}, {asked} was"
    assert cloze_of("As of 2018, the mayor of Town is ____") == "As of 2018, the mayor of Town is"
    with pytest.raises(InputError, match=r"no question such as .*; give the question a `prompt`"):
        cloze_of("Name the mayor.")
    own = Question("i", words="Name the mayor.", prompt="The mayor is")
    assert filled("{cloze}", own) == "The mayor is"


def test_prompts_without_what_they_need_are_refused():
    for key, prompt, said in (
        ("letter", "{context} {question}", "must have {options}"),
        ("letter", "{question} {options}", "must have {context}"),
        ("loglik", "{context}", "{question} or {cloze}"),
        ("loglik", "{context} {cloze} {answer}", "{answer} is no slot"),
    ):
        with pytest.raises(InputError, match=said.replace("{", r"\{")):
            read_settings(json.dumps({f"answer_prompts_{key}": prompt}), Settings, "edit")


OPTIONS = {
    "cities": ["Paris", "London", "Rome", "Berlin"],
    "clubs": ["Chelsea F.C.", "Serie A", "C. S. Lewis", "D.C. United"],
    "capitals": ["Washington, D.C.", "Serie A", "Chelsea F.C.", "C. S. Bo"],
    "people": ["Marta Kowalska", "Joe Biden", "Ann Smith", "Bo Smithers"],
    "twelve": [f"Person {number}" for number in range(1, 13)],
}
FORMS = [
    line.split("\t") for line in Path(__file__).with_name("letters.tsv").read_text("utf-8").splitlines()[1:]
]
"""Options, the letter that a person reads (`-`: none), and the output, in which `\\n` ends a line."""


@pytest.mark.parametrize("name", OPTIONS)
def test_outputs_are_read_as_a_person_reads_them(name):
    options = OPTIONS[name]
    wrong = []
    for named, letter, output in FORMS:
        if named == name:
            place = chosen(output.replace("\\n", "\n"), options)
            if ("-" if place is None else LETTERS[place]) != letter:
                wrong.append((output, letter, place))
    assert not wrong


@pytest.mark.parametrize("number", range(2, 27))
def test_each_letter_of_each_number_of_options_is_read(number):
    names = [f"Town {place}" for place in range(number)]
    for place, letter in enumerate(LETTERS):
        expected = place if place < number else None
        for form in ("{}", "{}.", "({})", "The answer is {}.", "**{}**", "Option {}", "{} is correct."):
            assert chosen(form.format(letter), names) == expected, form
        if place < number:
            for line in (listed(names).splitlines()[place], f"Answer: {letter}) {names[place]}"):
                assert chosen(line, names) == place
    assert chosen(listed(names), names) is None


@pytest.mark.parametrize(
    "text", ["Option A is wrong, not B, I think. ", "A ", "the answer is not ", "<", "A, B and C or "]
)
def test_long_outputs_are_read_like_short_ones(text):
    assert chosen(text * 2000, OPTIONS["cities"]) == chosen(text * 3, OPTIONS["cities"])


def test_letters_are_listed_and_read_in_one_module():
    folder = Path(factdrift.__file__).parent
    letters = re.compile(r"ascii_uppercase|ABCD|\[A-[A-Z](a-z)?\]")
    modules = {path for room in ("evaluation", "chat") for path in folder.glob(f"{room}/**/*.py")}
    assert {path.name for path in modules if letters.search(path.read_text("utf-8"))} == {"letters.py"}
