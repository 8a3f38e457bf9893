"""Jobs about the date of a model: chains of a stream, the table of dates, and all for one model by hand."""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from factdrift.chat.settings import Chat
from factdrift.core.addresses import QUERY_SERVICE, WIKIDATA_API, access_token, check_address
from factdrift.core.columns import Row
from factdrift.core.errors import CannotEdit, InputError
from factdrift.core.figures import check_format
from factdrift.core.files import sha256, write_json
from factdrift.core.jobs import Flag, Job, Key, Output, Paths, Place
from factdrift.core.keys import read_settings
from factdrift.core.owned import scratch
from factdrift.core.paths import CUTOFF_CHAINS, PRICES
from factdrift.core.settings import contact_of
from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.interface import Prepared
from factdrift.evaluation.questions.question import WAYS, Benchmark, Tables, Way, read
from factdrift.evaluation.settings import Settings
from factdrift.models.names import read_sizes
from factdrift.models.running import OfModel, loaded

WAY: dict[str, Way] = {"likelihood": "loglik", "letter": "letter", "written": "written"}
"""How people say it -> way of a question."""
ASKING = (
    "device gpus dtype budget answer_tokens answer_chat_template "
    "written_tokens written_instruction written_shots"
)
"""The settings on which the answers depend."""
PICTURE = Path("cutoff.svg")


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
        from factdrift.evaluation.questions.cutoff import REASONS, write_chains

        tables = self.stream, self.timelines, self.entities, self.successions
        written, left_out = write_chains(*tables, self.dates, self.output)
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
        from factdrift.core.tables import write_rows
        from factdrift.evaluation.questions.cutoff import read_chains
        from factdrift.evaluation.scores.cutoff import TABLE, CutoffSettings, declared, span_of, tables
        from factdrift.evaluation.scores.cutoff_answers import ANSWERS, read_answers
        from factdrift.evaluation.scores.cutoff_report import draw, lines

        chains, settings = read_chains(self.chains), CutoffSettings(span_of(self.dates), self.seed)
        dates: list[Row] = []
        quarters: list[Row] = []
        text: list[str] = []
        answers = [(path, own) for path in self.answers for own in read_answers(path, chains, self.seed)]
        for path, own in answers:
            rows, periods = tables(own, settings)
            dates, quarters = dates + rows, quarters + periods
            silent = [f"{path}: no chain was answered; {self.out_answers} has the reasons"]
            text += [*(lines(rows, own, declared(rows[0]["model"])[0]) if rows else silent), ""]
        write_rows(dates, TABLE, self.output)
        write_rows((row for _, own in answers for row in own), ANSWERS, self.out_answers)
        draw(dates, quarters, [self.figure], {row["model"]: declared(row["model"])[0] for row in dates})
        return "\n".join(text)


class AsksChains(OfModel):
    """A command that asks a model who holds, of all chains or some."""

    model: Annotated[str, "sample, a folder, or a name that transformers knows", Flag(positional=True)]
    chains: Annotated[Path | None, "of `cutoff refresh` or `cutoff chains` [default: the newest]"] = None
    limit: Annotated[int, "chains, drawn with the seed, for a quick look; 0 for all"] = 0
    dates: Annotated[tuple[datetime.date, ...], "the first and the last date [default: of the chains]"] = ()
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
        if self.limit < 0:
            raise InputError("--limit: give a number of chains, or 0 for all")
        if self.chains and not self.chains.is_file():
            hint = f"; for a number of chains write --limit {self.chains}" * self.chains.name.isdigit()
            raise InputError(f"--chains {self.chains}: there is no such file{hint}")
        if self.dates and (len(self.dates) != 2 or self.dates[0] >= self.dates[1]):
            raise InputError("--dates: give the first and the last date of the stream")
        if self.chat is not None and self.address is None:
            raise InputError("--chat: no chat model is asked; give the address of its server with --address")
        base = (self.chat or {}).get("api") == "completions"
        if self.way == "likelihood" and self.address is not None and not base:
            raise InputError(
                "--way likelihood: a chat model gives none; leave it out, give `written`, or ask a base "
                'model as such: --chat \'{"api": "completions"}\''
            )

    def questioned(self) -> tuple[Path, list[Row], tuple[datetime.date, ...], set[str]]:
        """The file of the chains, its rows and dates, and the names of those that are asked about."""
        from factdrift.evaluation.questions.cutoff import dates_of, drawn, newest, read_chains

        path = self.chains or newest()
        chains = read_chains(path)
        return path, chains, self.dates or dates_of(path), drawn(chains, self.limit, self.seed)

    def asked(self, benchmark: Benchmark, way: Way, folder: Path, states: Sequence[str] = ("none",)) -> Path:
        """The table of the answers in some states, in a folder; of a chat model in all of the questions."""
        if self.address:
            return self._ask_chat(benchmark, way, folder)
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
        from factdrift.evaluation.ways.chat import Form, read_answers, write_requests

        keys = {**(self.chat or {}), "model": self.model, "base_url": self.address}
        chat: Chat = read_settings(json.dumps(keys), Chat, "chat", "--chat")
        requests, replies, answers = (folder / name for name in ("requests", "replies.parquet", "answers"))
        form = Form(dict.fromkeys(WAYS, self.written), (way,))
        write_requests(benchmark, form, chat, requests)
        ask(requests, self.store, chat, replies, PRICES)
        read_answers(benchmark, form, chat, replies, answers)
        return answers


class Cutoff(AsksChains, command="cutoff", leading="way address maker answers output"):
    """Estimate the date as of which a model answers, with an interval, from facts that change.

    Asks the model who holds some 1,300 offices and the like, which changed between 2012 and 2024, and finds
    the date at which its answers fit best. A chat model behind an address (--address) chooses by letters, in
    two orders of the options, as any model does with `--way letter`. With `--way written` any model writes
    the name, and the first name that it asserts counts.
    """

    maker: Annotated[str | None, "the maker's own date, such as 2023-12 (default: makers.tsv)"] = None
    answers: Annotated[Output | None, "write the answers, too", Flag("PARQUET")] = None
    output: Annotated[Output, "the picture, or the result for `cutoff board`", Flag("SVG|PDF|JSON")] = PICTURE

    def check(self) -> None:
        """Raises InputError for what would end the command only after the model has answered."""
        super().check()
        from factdrift.evaluation.scores.cutoff_report import day_of

        if self.output.suffix != ".json":
            check_format(self.output)
        try:
            day_of(self.maker or "2023-12")
        except ValueError:
            raise InputError(
                f"--maker: {self.maker!r} is no date; write 2023, 2023-12 or 2023-12-31"
            ) from None

    def run(self) -> str:
        from factdrift.core.tables import write_rows
        from factdrift.evaluation.scores.cutoff import CutoffSettings, declared, span_of, tables
        from factdrift.evaluation.scores.cutoff_answers import ANSWERS, read_answers
        from factdrift.evaluation.scores.cutoff_report import about_chains, lines

        way = self.way or ("letter" if self.address else "likelihood")
        path, chains, dates, only = self.questioned()
        print(about_chains(path, dates), flush=True)
        benchmark = read("cutoff", Tables([path], seed=self.seed, open_=True))
        own = (question for question in benchmark.questions if question.id.partition("#")[0] in only)
        asked = [question for question in own if WAY[way] in question.ways]
        with scratch() as folder:
            replies = self.asked(replace(benchmark, questions=asked), WAY[way], folder)
            by_way = read_answers(replies, chains, self.seed, only)
        answers = by_way[0] if by_way else []
        if self.answers:
            write_rows(answers, ANSWERS, self.answers)
        rows, quarters = tables(answers, CutoffSettings(span_of(dates), self.seed)) if answers else ([], [])
        if not rows:
            raise InputError(f"{self.model}: no chain was answered; `--answers FILE` writes the reasons")
        maker = (self.maker, "--maker") if self.maker else declared(self.model)
        text = lines(rows, answers, maker[0], sum(row["died"] is None for row in chains))
        return "\n".join([*text, "", self._keep(rows, quarters, path, *maker)])

    def _keep(self, rows: list[Row], quarters: list[Row], path: Path, maker: str, source: str) -> str:
        """Writes the picture, or the result as JSON; returns a line that says so."""
        from factdrift.evaluation.scores import cutoff, cutoff_board, cutoff_report

        model, way = rows[0]["model"], rows[0]["way"]
        if self.output.suffix != ".json":
            cutoff_report.draw(rows, quarters, [self.output], {model: maker} if maker else {})
            return f"picture: {self.output}"
        columns = [{name: row.get(name) for name in cutoff.TABLE.names} for row in rows]
        result = cutoff_board.Result(model, way, maker, source, path.name, sha256(path), columns)
        write_json(msgspec.to_builtins(result), self.output)
        return f"result: {self.output}"


class Refresh(Job, command="cutoff refresh"):
    """Write chains up to yesterday, from the bundled chains and what Wikidata says now.

    Every answer is kept, so that the same command goes on where it was stopped. With --changes no server is
    asked: the chains that have changes by hand go on, and all others are left out.
    """

    until: Annotated[datetime.date | None, "the last day of the chains (default: yesterday)"] = None
    contact: Annotated[str, "your mail or web address, sent to the servers; else FACTDRIFT_CONTACT"] = ""
    chains: Annotated[Path, "that are continued"] = CUTOFF_CHAINS
    endpoint: Annotated[str, "the SPARQL server"] = QUERY_SERVICE
    api: Annotated[str, "address of the API"] = WIKIDATA_API
    folder: Annotated[Place, "for the answers, and for the chains"] = Path("results/fetched/cutoff")
    changes: Annotated[Path | None, "by hand, with --until: resources/cutoff/changes.tsv", Flag("TSV")] = None
    output: Annotated[Output | None, "of the chains with these changes", Flag("PARQUET")] = None

    def run(self) -> str:
        from factdrift.evaluation.questions.cutoff import REASONS
        from factdrift.evaluation.questions.refresh import Servers, write_extended, write_refreshed
        from factdrift.snapshots.api.client import LIMITS, POLICY, Api
        from factdrift.snapshots.fetch import Client as ApiClient
        from factdrift.sparql.client import Client

        if self.changes:
            if self.until is None or self.output is None:
                raise InputError("--changes: name the last day of the changes (--until), and --output")
            manifest = write_extended(self.chains, self.changes, self.until, self.output)
            return "\n".join([f"{manifest['chains']:,} chains: {self.output}", *_of_new(manifest)])
        contact = contact_of(self.contact)
        today = datetime.datetime.now(datetime.UTC).date()
        until = self.until or today - datetime.timedelta(days=1)
        if until >= today:
            raise InputError(f"--until {until}: the day is not over (UTC); name an earlier one")
        for option in ("endpoint", "api"):
            check_address(f"--{option}", getattr(self, option))
        if self.until is None:
            print(f"--until {until}: to continue this run on another day, name the same day", flush=True)
        folder = self.folder / str(until)
        api = Api(self.api, ApiClient(contact, POLICY, LIMITS, token=access_token(self.api)))
        servers = Servers(api, Client(self.endpoint, contact, folder), folder)
        path, manifest = write_refreshed(self.chains, until, servers, self.folder)
        lines = [f"{manifest['chains']:,} chains and {manifest['deaths']:,} dates of death: {path}"]
        left_out = manifest["left_out"].items()
        lines += [f"{count:,} left out: {REASONS[reason]}" for reason, count in left_out]
        if changed := manifest["changed_since"]:
            lines.append(f"{len(changed):,} changed since: {', '.join(changed)}")
        return "\n".join([*lines, *_of_new(manifest)])


def _of_new(manifest: dict[str, Any]) -> Iterator[str]:
    """Lines about the quarters from the year on in which the former chains end; the manifest has all."""
    for quarter, count in manifest["changes"].items():
        if quarter > manifest["former"]["until"][:4]:
            yield f"{quarter}: {count:,} changes"
    if manifest["marked_after"]:
        yield f"a date after {manifest['marked_after']} is `after`: too few changes are known"


class Board(Job, command="cutoff board"):
    """Print declared and measured dates of many results, and draw them."""

    folder: Annotated[Path, "with results of `cutoff MODEL -o RESULT.json`", Flag(positional=True)]
    json: Annotated[Output | None, "the results as JSON, in the order of the table", Flag("JSON")] = None
    output: Annotated[Output, "the picture", Flag("SVG|PDF")] = Path("cutoff-board.svg")

    def run(self) -> str:
        from factdrift.evaluation.scores.cutoff_board import draw, lines, read_results

        results = read_results(self.folder)
        if self.json:
            write_json(msgspec.to_builtins(results), self.json)
        draw(results, self.output)
        return "\n".join([*lines(results), "", f"picture: {self.output}"])


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
    items: Annotated[Output | None, "write the answers with their outcomes, too", Flag("PARQUET")] = None
    output: Annotated[Output, "the numbers", Flag("PARQUET")] = Path("stated.parquet")

    def run(self) -> str:
        from factdrift.core.tables import write_rows
        from factdrift.evaluation.scores import stated as scores
        from factdrift.evaluation.scores.cutoff import CutoffSettings, span_of
        from factdrift.evaluation.scores.cutoff_answers import read_answers
        from factdrift.evaluation.states.stated import today, tool

        _, chains, dates, only = self.questioned()
        chains = [row for row in chains if row["died"] is None and row["chain"] in only]
        own, of_today = self.date, self.state == "today"
        stated = today(chains, own, dates) if of_today else tool(chains, own, self.seed)
        if self.quoted:
            stated.turn = ""
        way = WAY[self.way or ("written" if self.address else "likelihood")]
        answers: dict[str, list[Row]] = {}
        with scratch() as folder:
            states = ("none", *stated.texts) if stated.rows else ()
            replies = self.asked(stated.benchmark(way, self.seed), way, folder, states) if states else folder
            for state in states:
                names = stated.texts.get(state, only)
                (answers[state],) = read_answers(replies, stated.rows, self.seed, names, state)
        items = scores.items(stated, answers)
        settings = CutoffSettings(span_of(dates), self.seed, permutations=199)
        rows = [*scores.shares(items, len(chains)), *scores.trust(items, settings)]
        rows += scores.shift(stated, answers, own, settings) if of_today and own else ()
        write_rows(rows, scores.STATED, self.output)
        if self.items:
            write_rows(items, scores.ITEMS, self.items)
        lacking = [] if own else [f"{len(chains):,} chains are left out of all that needs --date"]
        return "\n".join([*scores.lines(rows), *lacking])
