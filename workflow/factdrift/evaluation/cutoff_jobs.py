"""Jobs that tell as of which date a model answers: chains as questions, answers, the table of dates."""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from factdrift.core.errors import InputError
from factdrift.core.jobs import Flag, Job, Key, Output, Paths, Place
from factdrift.core.keys import read_settings
from factdrift.core.paths import CUTOFF_CHAINS, CUTOFF_MAKERS, PRICES
from factdrift.models.running import Computing, OfModel, RunsModel, loaded

if TYPE_CHECKING:
    from factdrift.chat.settings import Chat

SAMPLE_DATES = ("2012-01-01", "2024-12-31")
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


class Holders(RunsModel, command="answer holders"):
    """Ask a model who holds: log-likelihoods of the holders of each chain."""

    chains: Annotated[Path, "of `answer chains`"]
    seed: Annotated[int, Key("seed")]
    output: Annotated[Output, Flag("PARQUET")]

    def run(self) -> str:
        from factdrift.evaluation.questions.cutoff import read_chains

        chains = read_chains(self.chains)
        with self.loaded() as model:
            from factdrift.evaluation.ways.cutoff import ask
            from factdrift.models.scoring import budget_of

            rows = ask(model, chains, self.seed, budget_of(model))
        write_answers(rows, self.output)
        return f"{len(rows):,} chains asked"


class Dates(Job, command="answer dates", beside="models"):
    """Write as of which dates models answer, from their answers; print and draw them."""

    answers: Annotated[Paths, "of `answer holders`, a table per model", Flag("PARQUET")]
    dates: Annotated[tuple[datetime.date, ...], "of the stream's dumps, ascending"]
    seed: Annotated[int, Key("seed")]
    output: Annotated[Output, Flag("PARQUET")]
    out_answers: Annotated[Output, "the answers of all models", Flag("PARQUET")]
    figure: Annotated[Output, Flag("SVG|PNG")]

    def run(self) -> str:
        import pyarrow as pa
        import pyarrow.parquet as pq

        from factdrift.core.tables import write_parquet
        from factdrift.evaluation.questions.cutoff import ANSWERS
        from factdrift.evaluation.scores.cutoff import TABLE, Method, span_of, tables
        from factdrift.evaluation.scores.cutoff_figure import draw
        from factdrift.evaluation.scores.cutoff_text import lines

        method = Method(span_of([day.isoformat() for day in self.dates]), self.seed)
        whole: Rows = []
        quarters: Rows = []
        told: Rows = []
        said: list[str] = []
        for path in self.answers:
            rows = pq.read_table(path, schema=ANSWERS).to_pylist()
            told += rows
            own, periods = tables(rows, method)
            whole, quarters = whole + own, quarters + periods
            relations = {row["relation"]: row["relation_label"] for row in rows}
            said += [*lines(own, relations, maker_of(own[0]["model"])), ""] if own else []
        write_parquet(pa.Table.from_pylist(whole, TABLE), self.output)
        write_answers(told, self.out_answers)
        models = dict.fromkeys(row["model"] for row in whole)
        draw(whole, quarters, self.figure, {model: maker_of(model) for model in models})
        return "\n".join(said)


class Cutoff(OfModel, command="cutoff"):
    """Tell as of which date a model answers, with an interval, from facts that change.

    Asks the model who holds some 1,200 offices and the like, which changed between 2012 and 2024, and finds
    the date at which its answers fit best. A chat model behind an address (--address) chooses by letters.
    """

    model: Annotated[str, "sample, a folder, or a name that transformers knows", Flag(by_place=True)]
    chains: Annotated[Path, "of `answer chains`"] = CUTOFF_CHAINS
    dates: Annotated[tuple[str, ...], "the first and the last date of their stream"] = SAMPLE_DATES
    address: Annotated[str | None, "of a server with the OpenAI chat API", Flag("URL")] = None
    chat: Annotated[dict[str, Any] | None, "keys of the part `chat` of a configuration"] = None
    store: Annotated[Place, "folder of the store of answers"] = Path("chat_store")
    maker: Annotated[str | None, "the maker's own date, such as 2023-12 (default: makers.tsv)"] = None
    settings: Annotated[Computing, Key("edit")]
    threads: Annotated[int | None, "of the CPU (default: all)"] = None
    seed: Annotated[int, Key("seed")]
    answers: Annotated[Place | None, "write the answers, too", Flag("PARQUET")] = None
    output: Annotated[Output, "the picture", Flag("SVG|PNG")] = Path("cutoff.svg")

    def run(self) -> str:
        from factdrift.evaluation.questions.cutoff import read_chains
        from factdrift.evaluation.scores.cutoff import Method, span_of, tables
        from factdrift.evaluation.scores.cutoff_figure import draw
        from factdrift.evaluation.scores.cutoff_text import lines

        if len(self.dates) != 2:
            raise InputError("--dates: give the first and the last date of the stream")
        chains = read_chains(self.chains)
        told = self._of_chat(chains) if self.address is not None else self._of_model(chains)
        if self.answers:
            write_answers(told, self.answers)
        rows, quarters = tables(told, Method(span_of(self.dates), self.seed))
        if not rows:
            raise InputError(f"{self.model}: no chain was answered; `--answers FILE` writes the reasons")
        maker = self.maker or maker_of(self.model)
        relations = {row["relation"]: row["relation_label"] for row in told}
        draw(rows, quarters, self.output, {told[0]["model"]: maker} if maker else {})
        return "\n".join([*lines(rows, relations, maker), "", f"picture: {self.output}"])

    def _of_model(self, chains: Rows) -> Rows:
        with loaded(self, self.settings, self.threads or os.cpu_count() or 1) as model:
            from factdrift.evaluation.ways.cutoff import ask
            from factdrift.models.scoring import budget_of

            return ask(model, chains, self.seed, budget_of(model))

    def _of_chat(self, chains: Rows) -> Rows:
        from factdrift.chat.ask import ask
        from factdrift.chat.settings import Chat
        from factdrift.core.owned import scratch
        from factdrift.evaluation.questions.cutoff import with_dates
        from factdrift.evaluation.ways.cutoff_chat import read_answers, write_requests

        keys = {**(self.chat or {}), "model": self.model, "base_url": self.address}
        chat: Chat = read_settings(json.dumps(keys), Chat, "chat", "--chat")
        asked = with_dates(chains, self.seed)
        with scratch() as folder:
            write_requests(asked, chat, self.seed, folder / "requests.parquet")
            ask(folder / "requests.parquet", self.store, chat, folder / "answers.parquet", PRICES)
            return read_answers(asked, self.model, self.seed, folder / "answers.parquet")


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
