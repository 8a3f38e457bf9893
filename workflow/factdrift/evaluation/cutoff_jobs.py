"""Jobs about the date of a model: chains of a stream, the table of dates, and all for one model by hand."""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from factdrift.chat.settings import Chat
from factdrift.core.columns import Row
from factdrift.core.errors import CannotEdit, InputError
from factdrift.core.jobs import Flag, Job, Key, Output, Paths, Place
from factdrift.core.keys import read_settings
from factdrift.core.paths import CUTOFF_CHAINS, PRICES
from factdrift.evaluation.questions.question import Way
from factdrift.evaluation.settings import Settings
from factdrift.models.names import read_sizes
from factdrift.models.running import OfModel, loaded

if TYPE_CHECKING:
    from factdrift.evaluation.questions.question import Benchmark

WAY: dict[str, Way] = {"likelihood": "loglik", "letter": "letter", "written": "written"}
"""How people say it -> way of a question."""
ASKING = "device gpus dtype budget answer_chat_template written_tokens written_instruction written_shots"
"""The settings on which the answers depend."""
SAMPLE_DATES = (datetime.date(2012, 1, 1), datetime.date(2024, 12, 31))
"""The first and the last date of the stream behind the chains that ship with the package."""


def fast(settings: Settings, model: str, revision: str) -> Settings:
    """The settings with bfloat16 in the place of `auto`, where a CPU would take minutes in float32."""
    import torch

    from factdrift.models.devices import fast_type

    if settings.dtype != "auto":
        return settings
    try:
        sizes = read_sizes(model, revision)
    except CannotEdit:  # its configuration has other names for them
        return settings
    kind = fast_type(12 * sizes.layers * sizes.hidden**2)
    return msgspec.structs.replace(settings, dtype="bfloat16") if kind == torch.bfloat16 else settings


class Chains(Job, command="cutoff chains"):
    """Write the chains of a stream as questions: holders, their days, and wordings."""

    stream: Annotated[Path, "of `streams assemble`"]
    timelines: Annotated[Paths, "of all buckets"]
    entities: Annotated[Paths, "of the dumps, the newest last"]
    dates: Annotated[tuple[datetime.date, ...], "of the dumps, ascending"]
    successions: Annotated[Path | None, "written beside the stream", Flag("TSV", by_hand=True)] = None
    output: Annotated[Output, Flag("PARQUET")]

    def run(self) -> str:
        from factdrift.evaluation.questions.cutoff import REASONS, StreamTables, write_chains

        tables = StreamTables(self.stream, self.timelines, self.entities, self.successions)
        written, left_out = write_chains(tables, self.dates, self.output)
        lines = [f"{written:,} chains"]
        lines += [f"{count:,} left out: {REASONS[reason]}" for reason, count in sorted(left_out.items())]
        return "\n".join(lines)


class Dates(Job, command="cutoff dates", implied_inputs="words"):
    """Estimate the dates as of which models answer, from their answers; print and draw them."""

    chains: Annotated[Path, "of `cutoff chains`"]
    answers: Annotated[Paths, "of `evaluate` and `answer read`, a table per model", Flag("PARQUET")]
    dates: Annotated[tuple[datetime.date, ...], "of the stream's dumps, ascending"]
    seed: Annotated[int, Key("seed")]
    output: Annotated[Output, Flag("PARQUET")]
    out_answers: Annotated[Output, "the answers of all models", Flag("PARQUET")]
    figure: Annotated[Output, Flag("SVG|PDF")]

    def run(self) -> str:
        from factdrift.evaluation.questions.cutoff import read_chains
        from factdrift.evaluation.scores.cutoff import CutoffSettings, maker_of, span_of, tables, write_table
        from factdrift.evaluation.scores.cutoff_answers import read_answers, write_answers
        from factdrift.evaluation.scores.cutoff_figure import draw
        from factdrift.evaluation.scores.cutoff_text import lines

        chains, settings = read_chains(self.chains), CutoffSettings(span_of(self.dates), self.seed)
        dates: list[Row] = []
        quarters: list[Row] = []
        text: list[str] = []
        answers = [(path, own) for path in self.answers for own in read_answers(path, chains, self.seed)]
        for path, own in answers:
            rows, periods = tables(own, settings)
            dates, quarters = dates + rows, quarters + periods
            silent = [f"{path}: no chain was answered; {self.out_answers} has the reasons"]
            text += [*(lines(rows, own, maker_of(rows[0]["model"])) if rows else silent), ""]
        write_table(dates, self.output)
        write_answers([row for _, own in answers for row in own], self.out_answers)
        draw(dates, quarters, [self.figure], {row["model"]: maker_of(row["model"]) for row in dates})
        return "\n".join(text)


class AsksChains(OfModel):
    """A command that asks a model who holds, of all chains or some."""

    model: Annotated[str, "sample, a folder, or a name that transformers knows", Flag(positional=True)]
    chains: Annotated[int, "as many, drawn with the seed, for a quick look; 0 for all"] = 0
    table: Annotated[Path, "of `cutoff chains`"] = CUTOFF_CHAINS
    dates: Annotated[tuple[datetime.date, ...], "the first and the last date of their stream"] = SAMPLE_DATES
    way: Annotated[
        Literal["likelihood", "letter", "written"] | None,
        "how it is asked [default: as the kind of model allows]",
    ] = None
    address: Annotated[str | None, "of a server with the OpenAI chat API", Flag("URL")] = None
    chat: Annotated[dict[str, Any] | None, "keys of the part `chat` of a configuration"] = None
    store: Annotated[Place, "folder of the store of answers"] = Path("chat_store")
    written: Annotated[str, Key("answer.prompts.written")]
    settings: Annotated[Settings, Key("edit", only=ASKING)]
    threads: Annotated[int | None, "of the CPU (default: all)"] = None
    seed: Annotated[int, Key("seed")]

    def check(self) -> None:
        """Raises InputError for what would end the command only after the model has answered."""
        if self.address is None:
            super().check()
        if self.chains < 0:
            raise InputError("--chains: give a number of chains, or 0 for all")
        if len(self.dates) != 2 or self.dates[0] >= self.dates[1]:
            raise InputError("--dates: give the first and the last date of the stream")
        if self.chat is not None and self.address is None:
            raise InputError("--chat: no chat model is asked; give the address of its server with --address")
        if self.way == "letter" and self.address is None:
            raise InputError(
                "--way letter: only a chat model behind an address (--address) chooses by letters"
            )
        if self.way == "likelihood" and self.address is not None:
            raise InputError("--way likelihood: a chat model gives none; leave it out, or give `written`")

    def asked(self, benchmark: Benchmark, way: Way, folder: Path, states: Sequence[str] = ("none",)) -> Path:
        """The table of the answers in some states, in a folder; of a chat model in all of the questions."""
        if self.address:
            return self._ask_chat(benchmark, way, folder)
        from factdrift.evaluation.methods.hyperparameters import Hyper
        from factdrift.evaluation.methods.interface import Prepared
        from factdrift.evaluation.run import Files, Run, evaluate
        from factdrift.evaluation.session import Session
        from factdrift.evaluation.states.edited import Condition

        files = Files.under(folder, "none")
        settings = fast(self.settings, self.model, self.revision)
        with loaded(self, settings, self.threads or os.cpu_count() or 1) as model:
            hypers = [Hyper(state, model.name, "", {}) for state in states]
            conditions = [Condition(Prepared(hyper), self.settings.regime) for hyper in hypers]
            run = Run.of(Session(model, self.settings), benchmark, conditions, self.seed)
            evaluate(replace(run, ways=[way]), files)
        return files.answers

    def _ask_chat(self, benchmark: Benchmark, way: Way, folder: Path) -> Path:
        """The same of the chat model behind the address, from its store where it was asked before."""
        from factdrift.chat.ask import ask
        from factdrift.evaluation.ways.chat import read_answers, write_requests

        keys = {**(self.chat or {}), "model": self.model, "base_url": self.address}
        chat: Chat = read_settings(json.dumps(keys), Chat, "chat", "--chat")
        requests, replies, answers = (folder / name for name in ("requests", "replies.parquet", "answers"))
        write_requests(benchmark, {"written": self.written}, chat, requests)
        ask(requests, self.store, chat, replies, PRICES)
        read_answers(benchmark, {}, chat, replies, answers)
        return answers


class Cutoff(AsksChains, command="cutoff", leading="way address maker answers output"):
    """Estimate the date as of which a model answers, with an interval, from facts that change.

    Asks the model who holds some 1,300 offices and the like, which changed between 2012 and 2024, and finds
    the date at which its answers fit best. A chat model behind an address (--address) chooses by letters.
    With `--way written` any model writes the name, and the first one that it gives as its answer counts.
    """

    maker: Annotated[str | None, "the maker's own date, such as 2023-12 (default: makers.tsv)"] = None
    answers: Annotated[Place | None, "write the answers, too", Flag("PARQUET")] = None
    output: Annotated[Output, "the picture", Flag("SVG|PDF")] = Path("cutoff.svg")

    def check(self) -> None:
        """Raises InputError for what would end the command only after the model has answered."""
        super().check()
        from factdrift.core.figures import check_format
        from factdrift.evaluation.scores.cutoff_figure import day_of

        check_format(self.output)
        try:
            day_of(self.maker or "2023-12")
        except ValueError:
            raise InputError(
                f"--maker: {self.maker!r} is no date; write 2023, 2023-12 or 2023-12-31"
            ) from None

    def run(self) -> str:
        from factdrift.core.owned import scratch
        from factdrift.evaluation.questions.cutoff import drawn, read_chains
        from factdrift.evaluation.questions.question import Tables, read
        from factdrift.evaluation.scores.cutoff import CutoffSettings, maker_of, span_of, tables
        from factdrift.evaluation.scores.cutoff_answers import read_answers, write_answers
        from factdrift.evaluation.scores.cutoff_figure import draw
        from factdrift.evaluation.scores.cutoff_text import lines

        way = self.way or ("letter" if self.address else "likelihood")
        chains = read_chains(self.table)
        only = drawn(chains, self.chains, self.seed)
        benchmark = read("cutoff", Tables([self.table], seed=self.seed, open_=True))
        own = (question for question in benchmark.questions if question.id.partition("#")[0] in only)
        asked = [question for question in own if WAY[way] in question.ways]
        with scratch() as folder:
            path = self.asked(replace(benchmark, questions=asked), WAY[way], folder)
            by_way = read_answers(path, chains, self.seed, only)
        answers = by_way[0] if by_way else []
        if self.answers:
            write_answers(answers, self.answers)
        settings = CutoffSettings(span_of(self.dates), self.seed)
        rows, quarters = tables(answers, settings) if answers else ([], [])
        if not rows:
            raise InputError(f"{self.model}: no chain was answered; `--answers FILE` writes the reasons")
        maker = self.maker or maker_of(self.model)
        draw(rows, quarters, [self.output], {answers[0]["model"]: maker} if maker else {})
        count = sum(row["died"] is None for row in chains)
        return "\n".join([*lines(rows, answers, maker, count), "", f"picture: {self.output}"])


class StatedDate(AsksChains, command="stated", leading="state date way address items output"):
    """Measure what a stated date, or a dated result of a search, does to a model's answers.

    Asks about the chains of `cutoff`, without a date and with it. In the state `today` the model reads which
    day it is; in the state `tool` it reads results of a search, newer than its own date or older, true or
    planted. A chat model behind an address (--address) writes its answers.
    """

    state: Annotated[Literal["today", "tool"], "what stands before the question"] = "today"
    date: Annotated[
        datetime.date | None, "the model's own, as `cutoff` finds it; without it what needs it is left out"
    ] = None
    quoted: Annotated[bool, "text in the user's turn, for servers without other turns"] = False
    items: Annotated[Place | None, "write the answers with their outcomes, too", Flag("PARQUET")] = None
    output: Annotated[Output, "the numbers", Flag("PARQUET")] = Path("stated.parquet")

    def run(self) -> str:
        import pyarrow as pa

        from factdrift.core.owned import scratch
        from factdrift.core.tables import write_parquet
        from factdrift.evaluation.questions.cutoff import drawn, read_chains
        from factdrift.evaluation.scores import stated as scores
        from factdrift.evaluation.scores.cutoff import CutoffSettings, span_of
        from factdrift.evaluation.scores.cutoff_answers import read_answers
        from factdrift.evaluation.states.stated import today, tool

        own, chains = self.date, [row for row in read_chains(self.table) if row["died"] is None]
        only = drawn(chains, self.chains, self.seed)
        chains = [row for row in chains if row["chain"] in only]
        of_today = self.state == "today"
        stated = today(chains, own, self.dates) if of_today else tool(chains, own, self.seed)
        if self.quoted:
            stated.turn = ""
        way = WAY[self.way or ("written" if self.address else "likelihood")]
        answers: dict[str, list[Row]] = {}
        with scratch() as folder:
            states = ("none", *stated.texts) if stated.rows else ()
            path = self.asked(stated.benchmark(way, self.seed), way, folder, states) if states else folder
            for state in states:
                names = stated.texts.get(state, only)
                (answers[state],) = read_answers(path, stated.rows, self.seed, names, state)
        items = scores.items(stated, answers)
        settings = CutoffSettings(span_of(self.dates), self.seed, permutations=199)
        rows = [*scores.shares(items, len(chains)), *scores.trust(items, settings)]
        rows += scores.shift(stated, answers, own, settings) if of_today and own else ()
        write_parquet(pa.Table.from_pylist(rows, scores.STATED), self.output)
        if self.items:
            write_parquet(pa.Table.from_pylist(items, scores.ITEMS), self.items)
        lacking = [] if own else [f"{len(chains):,} chains are left out of all that needs --date"]
        return "\n".join([*scores.lines(rows), *lacking])
