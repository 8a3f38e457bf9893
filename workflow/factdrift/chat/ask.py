"""`factdrift chat ask`: gets the answers to a table of requests, and writes them as a table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from factdrift.chat.exchange import write_rows
from factdrift.chat.prices import price_of
from factdrift.chat.requests import read_requests
from factdrift.chat.settings import Chat, api_key
from factdrift.chat.store import ANSWERED, Row, Store
from factdrift.chat.survey import Survey, Tally, budget_for, pending, say, survey
from factdrift.chat.tables import ANSWERS
from factdrift.core.errors import InputError


def ask(requests: Path, folder: Path, chat: Chat, output: Path, prices: Path) -> None:
    """Asks for the answers that the store does not have, and writes the ANSWERS table.

    `folder`: the store; `prices`: the table of prices. Raises InputError if the requests, the settings or
    the store cannot be used, if the cost would exceed `max_usd`, if the server refuses, or if an answer is
    missing in mode `replay`. Answers that have arrived by then are kept.
    """
    with Store(folder, reading=chat.mode == "replay") as store:
        wanted = survey(requests, chat.model, store)
        if chat.mode == "replay":
            _check_complete(wanted, folder)
        elif wanted.missing:
            tally = _get(requests, chat, store, wanted, prices)
            say(f"{tally.answered:,} answered, {tally}")
        else:
            say(f"all {wanted.rows:,} requests are answered in {folder}; nothing is asked")
        failed = 0

        def rows() -> Iterator[Row]:
            nonlocal failed
            for row in _answers(requests, chat.model, store):
                failed += row["status"] != ANSWERED
                yield row

        count = write_rows(rows(), ANSWERS, output)
    print(f"{output}: {count:,} requests, {failed:,} of them failed")
    if failed:
        # Lines that begin so reach the terminal of a run.
        print(
            f"factdrift: {output}: {failed:,} of {count:,} requests to {chat.model} failed and have no "
            "answer; the column `error` says why; to ask them again, remove the file and run again"
        )


def _get(requests: Path, chat: Chat, store: Store, wanted: Survey, prices: Path) -> Tally:
    budget = budget_for(wanted, chat, price_of(chat, prices), store)
    key = api_key(chat)
    if not key and not chat.base_url:
        raise InputError(
            "no key for OpenAI: set the environment variable OPENAI_API_KEY, or chat.api_key_file; no key is "
            "needed for a server of your own (chat.base_url)"
        )
    from factdrift.chat.batch import ask_batches, open_keys

    if chat.mode == "batch":
        return ask_batches(requests, chat, key, store, budget, wanted)
    from factdrift.chat.live import ask_live

    kept = open_keys(store.folder)
    if kept and (waiting := sum(request.key in kept for request in pending(requests, chat.model, store))):
        raise InputError(
            f"{waiting:,} of the requests are in open batches; continue with chat.mode batch, or cancel the "
            f"batches with `factdrift chat cancel --store {store.folder}`"
        )
    return ask_live(pending(requests, chat.model, store), chat, key, store, budget, wanted)


def _check_complete(wanted: Survey, folder: Path) -> None:
    if wanted.never_asked:
        names = ", ".join(repr(name) for name in wanted.examples)
        others = ", ..." if wanted.never_asked > len(wanted.examples) else ""
        raise InputError(
            f"{folder}: {wanted.never_asked:,} of {wanted.rows:,} answers are missing ({names}{others}); "
            "import a store that has them, or ask with chat.mode live or batch. A request whose model, text "
            "or settings have changed is another request"
        )


def _answers(requests: Path, model: str, store: Store) -> Iterator[Row]:
    for batch in read_requests(requests, model):
        stored = store.rows((request.key for request in batch), ANSWERS.names[2:])
        for request in batch:
            yield {"request": request.name} | stored[request.key]
