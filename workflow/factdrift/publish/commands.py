"""`factdrift publish`: products under the names that users look for, and folders for other people."""

from __future__ import annotations

import argparse
from pathlib import Path


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    stage = commands.add_parser("publish", help="finished files under short names; folders for other people")
    verbs = stage.add_subparsers(dest="verb", required=True, metavar="VERB")

    help_ = "copy a finished file; the copy appears only when it is complete"
    verb = verbs.add_parser("file", help=help_, description=help_)
    verb.add_argument("source", type=Path)
    verb.add_argument("output", type=Path)
    verb.set_defaults(run=_file)

    verb = verbs.add_parser(
        "folders",
        help="a folder for each data set, which loads with common libraries and describes itself",
        description="Writes a folder for each data set that has a product among the files given.",
    )
    verb.add_argument("products", type=Path, nargs="+", metavar="FILE", help="products, as in results/")
    verb.add_argument("--manifest", type=Path, required=True, help="manifest.json of the build")
    verb.add_argument(
        "--answers", type=Path, nargs="*", default=[], help="answers of a chat model that the build has used"
    )
    verb.add_argument("--store", type=Path, help="folder of the store that has these answers")
    verb.add_argument("--date", default="", help="day of publication, for Croissant and the citation")
    verb.add_argument("--url", default="", help="address of publication, likewise")
    verb.add_argument("--memory-mb", type=int, default=2000, help="for the tables (default %(default)s)")
    verb.add_argument(
        "-o", "--output", type=Path, required=True, metavar="FOLDER", help="made anew; must not exist"
    )
    verb.set_defaults(run=_folders)


def _file(options: argparse.Namespace) -> None:
    import shutil

    from factdrift.core.owned import atomic_path

    with atomic_path(options.output) as path:
        shutil.copyfile(options.source, path)


def _folders(options: argparse.Namespace) -> None:
    from factdrift.publish.folders import Published, Replay, write_folders

    if bool(options.answers) != bool(options.store):
        from factdrift.core.errors import InputError

        raise InputError("--answers and --store belong together; give both or neither")
    replay = Replay(options.answers, options.store) if options.store else None
    written = write_folders(
        options.products,
        options.manifest,
        options.output,
        replay,
        options.memory_mb,
        Published(options.date, options.url),
    )
    for name, rows in written.items():
        print(f"{options.output / name}: {rows:,} rows")
