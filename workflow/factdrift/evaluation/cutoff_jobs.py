"""Jobs that estimate the date of a model: chains as questions, answers, the table of dates."""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from factdrift.chat.settings import Chat, Form
from factdrift.core.errors import InputError
from factdrift.core.jobs import Flag, Job, Key, Output, Paths, Place
from factdrift.core.keys import read_settings
from factdrift.core.paths import CUTOFF_CHAINS, CUTOFF_MAKERS, PRICES
from factdrift.evaluation.settings import Settings
from factdrift.models.running import OfModel, RunsModel, loaded

if TYPE_CHECKING:
    from factdrift.evaluation.ways.cutoff_chat import Put
    from factdrift.models.loaded import Loaded

ASKING = "device gpus dtype budget answer_chat_template written_tokens written_instruction written_shots"
"""The settings on which the answers depend."""
SAMPLE_DATES = (datetime.date(2012, 1, 1), datetime.date(2024, 12, 31))
"""The first and the last date of the stream behind the chains that ship with the package."""

Rows = list[dict[str, Any]]


class Chains(Job, command="answer chains"):
    """Write the chains of a stream as questions: who held when, and how that is asked."""

    stream: Annotated[Path, "of `streams assemble`"]
    timelines: Annotated[Paths, "of all buckets"]
    entities: Annotated[Paths, "of the dumps, the newest last"]
    dates: Annotated[tuple[datetime.date, ...], "of the dumps, ascending"]
    successions: Annotated[Path | None, "written beside the stream", Flag("TSV", by_hand=True)] = None
    output: Annotated[Output, Flag("PARQUET")]

    def run(self) -> str:
        from factdrift.evaluation.questions.cutoff import REASONS, Tables, write_chains

        tables = Tables(self.stream, self.timelines, self.entities, self.successions)
        written, left_out = write_chains(tables, self.dates, self.output)
        lines = [f"{written:,} chains"]
        lines += [f"{count:,} left out: {REASONS[reason]}" for reason, count in sorted(left_out.items())]
        return "\n".join(lines)


class Holders(RunsModel, command="answer holders", implied_inputs="words"):
    """Ask a model who holds: log-likelihoods of the holders of each chain, or what it writes."""

    chains: Annotated[Path, "of `answer chains`"]
    way: Annotated[Literal["likelihood", "written"], "how it is asked"] = "likelihood"
    settings: Annotated[Settings, Key("edit", only=ASKING)]
    seed: Annotated[int, Key("seed")]
    output: Annotated[Output, Flag("PARQUET")]

    def run(self) -> str:
        from factdrift.evaluation.questions.cutoff import read_chains

        chains = read_chains(self.chains)
        with self.loaded() as model:
            rows = asked_of(model, self.settings, chains, self.way, self.seed)
        write_answers(rows, self.output)
        return f"{len(rows):,} chains asked"


class AsksChat(Job):
    """A command about what a chat model is asked about who holds."""

    chains: Annotated[Path, "of `answer chains`"]
    way: Annotated[Literal["letter", "written"], "how it is asked"] = "letter"
    written: Annotated[str, Key("answer.prompts.written")]
    seed: Annotated[int, Key("seed")]

    def put(self) -> Put:
        from factdrift.evaluation.ways.cutoff_chat import Put

        return Put(self.way, self.written, self.seed)


class HoldersRequests(AsksChat, command="answer holders-requests"):
    """Write what a chat model is asked about who holds."""

    # Another limit of the price or another server makes no request again.
    settings: Annotated[Chat, Key("chat", only=" ".join(Form.__struct_fields__))]
    output: Annotated[Output, "requests", Flag("PARQUET")]

    def run(self) -> str:
        from factdrift.evaluation.questions.cutoff import read_chains
        from factdrift.evaluation.ways.cutoff_chat import write_requests

        rows = write_requests(read_chains(self.chains), self.put(), self.settings, self.output)
        return f"{self.output}: {rows:,} requests"


class HoldersRead(AsksChat, command="answer holders-read", implied_inputs="words"):
    """Read who holds from the answers of a chat model."""

    model: Annotated[str, Key("chat.model")]
    answers: Annotated[Path, "of `chat ask`", Flag("PARQUET")]
    output: Annotated[Output, Flag("PARQUET")]

    def run(self) -> str:
        from factdrift.evaluation.questions.cutoff import read_chains
        from factdrift.evaluation.ways.cutoff_chat import read_answers

        rows = read_answers(read_chains(self.chains), self.put(), self.model, self.answers)
        write_answers(rows, self.output)
        return f"{len(rows):,} chains asked"


class Dates(Job, command="answer dates"):
    """Write as of which dates models answer, from their answers; print and draw them."""

    answers: Annotated[Paths, "of `answer holders`, a table per model and way", Flag("PARQUET")]
    dates: Annotated[tuple[datetime.date, ...], "of the stream's dumps, ascending"]
    seed: Annotated[int, Key("seed")]
    output: Annotated[Output, Flag("PARQUET")]
    out_answers: Annotated[Output, "the answers of all models", Flag("PARQUET")]
    figure: Annotated[Output, Flag("SVG|PDF")]

    def run(self) -> str:
        import pyarrow as pa
        import pyarrow.parquet as pq

        from factdrift.core.tables import write_parquet
        from factdrift.evaluation.questions.cutoff import ANSWERS
        from factdrift.evaluation.scores.cutoff import TABLE, Method, span_of, tables
        from factdrift.evaluation.scores.cutoff_figure import draw
        from factdrift.evaluation.scores.cutoff_text import lines

        method = Method(span_of(self.dates), self.seed)
        whole: Rows = []
        quarters: Rows = []
        told: Rows = []
        said: list[str] = []
        for path in self.answers:
            rows = pq.read_table(path, schema=ANSWERS).to_pylist()
            told += rows
            own, periods = tables(rows, method)
            whole, quarters = whole + own, quarters + periods
            silent = [f"{path}: no chain was answered; {self.out_answers} has the reasons"]
            said += [*(lines(own, rows, maker_of(own[0]["model"])) if own else silent), ""]
        write_parquet(pa.Table.from_pylist(whole, TABLE), self.output)
        write_answers(told, self.out_answers)
        models = dict.fromkeys(row["model"] for row in whole)
        draw(whole, quarters, [self.figure], {model: maker_of(model) for model in models})
        return "\n".join(said)


class Cutoff(OfModel, command="cutoff"):
    """Tell as of which date a model answers, with an interval, from facts that change.

    Asks the model who holds some 1,300 offices and the like, which changed between 2012 and 2024, and finds
    the date at which its answers fit best. A chat model behind an address (--address) chooses by letters.
    With `--way written` any model writes the name, and the first one that it gives as its answer counts.
    """

    model: Annotated[str, "sample, a folder, or a name that transformers knows", Flag(positional=True)]
    chains: Annotated[Path, "of `answer chains`"] = CUTOFF_CHAINS
    dates: Annotated[tuple[datetime.date, ...], "the first and the last date of their stream"] = SAMPLE_DATES
    way: Annotated[
        Literal["likelihood", "letter", "written"] | None,
        "how it is asked [default: as the kind of model allows]",
    ] = None
    address: Annotated[str | None, "of a server with the OpenAI chat API", Flag("URL")] = None
    chat: Annotated[dict[str, Any] | None, "keys of the part `chat` of a configuration"] = None
    store: Annotated[Place, "folder of the store of answers"] = Path("chat_store")
    maker: Annotated[str | None, "the maker's own date, such as 2023-12 (default: makers.tsv)"] = None
    written: Annotated[str, Key("answer.prompts.written")]
    settings: Annotated[Settings, Key("edit", only=ASKING)]
    threads: Annotated[int | None, "of the CPU (default: all)"] = None
    seed: Annotated[int, Key("seed")]
    answers: Annotated[Place | None, "write the answers, too", Flag("PARQUET")] = None
    output: Annotated[Output, "the picture", Flag("SVG|PDF")] = Path("cutoff.svg")

    def run(self) -> str:
        from factdrift.evaluation.questions.cutoff import read_chains
        from factdrift.evaluation.scores.cutoff import Method, span_of, tables
        from factdrift.evaluation.scores.cutoff_figure import draw
        from factdrift.evaluation.scores.cutoff_text import lines

        chains = read_chains(self.chains)
        told = self._of_chat(chains) if self.address is not None else self._of_model(chains)
        if self.answers:
            write_answers(told, self.answers)
        rows, quarters = tables(told, Method(span_of(self.dates), self.seed))
        if not rows:
            raise InputError(f"{self.model}: no chain was answered; `--answers FILE` writes the reasons")
        maker = self.maker or maker_of(self.model)
        draw(rows, quarters, [self.output], {told[0]["model"]: maker} if maker else {})
        return "\n".join([*lines(rows, told, maker), "", f"picture: {self.output}"])

    def check(self) -> None:
        """Raises InputError for what would end the command only after the model has answered."""
        if self.address is None:
            super().check()
        from factdrift.core.figures import check_format
        from factdrift.evaluation.scores.cutoff_figure import day_of

        if len(self.dates) != 2 or self.dates[0] >= self.dates[1]:
            raise InputError("--dates: give the first and the last date of the stream")
        check_format(self.output)
        if self.chat is not None and self.address is None:
            raise InputError("--chat: no chat model is asked; give the address of its server with --address")
        try:
            day_of(self.maker or "2023-12")
        except ValueError:
            raise InputError(
                f"--maker: {self.maker!r} is no date; write 2023, 2023-12 or 2023-12-31"
            ) from None

    def _of_model(self, chains: Rows) -> Rows:
        way = self.way or "likelihood"
        if way == "letter":
            raise InputError(
                "--way letter: only a chat model behind an address (--address) chooses by letters"
            )
        with loaded(self, self.settings, self.threads or os.cpu_count() or 1) as model:
            return asked_of(model, self.settings, chains, way, self.seed)

    def _of_chat(self, chains: Rows) -> Rows:
        from factdrift.chat.ask import ask
        from factdrift.core.owned import scratch
        from factdrift.evaluation.ways.cutoff_chat import Put, read_answers, write_requests

        if self.way == "likelihood":
            raise InputError("--way likelihood: a chat model gives none; leave it out, or give `written`")
        keys = {**(self.chat or {}), "model": self.model, "base_url": self.address}
        chat: Chat = read_settings(json.dumps(keys), Chat, "chat", "--chat")
        put = Put(self.way or "letter", self.written, self.seed)
        with scratch() as folder:
            write_requests(chains, put, chat, folder / "requests.parquet")
            ask(folder / "requests.parquet", self.store, chat, folder / "answers.parquet", PRICES)
            return read_answers(chains, put, self.model, folder / "answers.parquet")


def asked_of(model: Loaded, settings: Settings, chains: Rows, way: str, seed: int) -> Rows:
    """Rows of ANSWERS of a loaded model, by likelihood or in writing."""
    from factdrift.evaluation.session import Session
    from factdrift.evaluation.ways.cutoff import ask, ask_in_writing

    session = Session(model, settings)
    if way == "written":
        return ask_in_writing(session, chains)
    return ask(model, chains, seed, session.budget)


def write_answers(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Writes rows of ANSWERS."""
    import pyarrow as pa

    from factdrift.core.tables import write_parquet
    from factdrift.evaluation.questions.cutoff import ANSWERS

    write_parquet(pa.Table.from_pylist(rows, ANSWERS), path)


def maker_of(model: str) -> str:
    """The maker's own date, by the longest beginning of the name in makers.tsv; "" if none is known."""
    from factdrift.core.tables import rows_of

    rows = [fields for _, fields in rows_of(CUTOFF_MAKERS, ("name", "date", "source"))]
    known = {name: date for name, date, _ in rows if model.startswith(name)}
    return known[max(known, key=len)] if known else ""
