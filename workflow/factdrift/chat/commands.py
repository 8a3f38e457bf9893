"""`factdrift chat ask`, `cancel`, `export`, `import`."""

from __future__ import annotations

import argparse
from pathlib import Path

from factdrift.chat.settings import Chat
from factdrift.core.paths import PRICES
from factdrift.core.stage_settings import add_settings


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    chat = commands.add_parser("chat", help="ask a chat model; keep, export and import its answers")
    verbs = chat.add_subparsers(dest="verb", required=True, metavar="VERB")

    ask = verbs.add_parser("ask", help="get the answers to a table of requests")
    ask.add_argument("--requests", type=Path, required=True, help="table of requests, .parquet")
    _add_store(ask)
    add_settings(ask, Chat, "chat")
    ask.add_argument("--prices", type=Path, default=PRICES, help="table of prices (%(default)s)")
    ask.add_argument("-o", "--output", type=Path, required=True, help="table of answers, .parquet")
    ask.set_defaults(run=_ask)

    cancel = verbs.add_parser("cancel", help="cancel the open batches; keep what they have answered")
    _add_store(cancel)
    add_settings(cancel, Chat, "chat")
    cancel.set_defaults(run=_cancel)

    export = verbs.add_parser("export", help="write a store as one Parquet file")
    export.add_argument("store", type=Path, help="folder of the store")
    export.add_argument("output", type=Path, help="the file to write, .parquet")
    export.set_defaults(run=_export)

    bring = verbs.add_parser("import", help="add an exported file to a store")
    bring.add_argument("file", type=Path, help="the exported file, .parquet")
    bring.add_argument("store", type=Path, help="folder of the store")
    bring.set_defaults(run=_import)


def _add_store(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--store", type=Path, required=True, help="folder of the store of answers")


def _ask(options: argparse.Namespace) -> None:
    from factdrift.chat.ask import ask
    from factdrift.chat.settings import chat_settings

    chat = chat_settings(options.settings)
    ask(options.requests, options.store, chat, options.output, options.prices)


def _cancel(options: argparse.Namespace) -> None:
    from factdrift.chat.batch import cancel_batches
    from factdrift.chat.settings import chat_settings

    cancelled, kept = cancel_batches(options.store, chat_settings(options.settings))
    print(f"{options.store}: {cancelled:,} batches cancelled, {kept:,} answers kept")


def _export(options: argparse.Namespace) -> None:
    from factdrift.chat.exchange import export_store

    print(f"{options.output}: {export_store(options.store, options.output):,} answers")


def _import(options: argparse.Namespace) -> None:
    from factdrift.chat.exchange import import_store

    read, new = import_store(options.file, options.store)
    print(f"{options.store}: {new:,} of {read:,} answers are new")
