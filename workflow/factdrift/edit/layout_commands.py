"""`factdrift edit export | import`: convert datasets to and from the layouts of other projects."""

from __future__ import annotations

import argparse
from pathlib import Path

LAYOUTS = ("counterfact", "easyedit", "wikibigedit", "zsre")


def register(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    export = verbs.add_parser("export", help="write a dataset in the layout of another project")
    export.add_argument("dataset", type=Path, help="such as results/wfd_repl.parquet")
    export.add_argument("--layout", choices=LAYOUTS, required=True)
    export.add_argument("--shared", type=Path, metavar="PARQUET", help="shared_objects: for CounterFact")
    for option in ("facts", "related"):
        export.add_argument(
            f"--{option}", type=Path, metavar="PARQUET", help=f"tr_{option}: what follows from the new facts"
        )
    export.add_argument(
        "--need",
        nargs="+",
        default=[],
        metavar="FIELD",
        help="leave out records in which a field is empty, such as neighborhood_prompts",
    )
    export.add_argument("-o", "--output", type=Path, required=True, metavar="JSON")
    export.set_defaults(run=_export)

    load = verbs.add_parser(
        "import", help="convert a file in such a layout to a table that can be edited and scored"
    )
    load.add_argument("file", type=Path, help="such as counterfact.json")
    load.add_argument("--layout", choices=LAYOUTS, required=True)
    load.add_argument("-o", "--output", type=Path, required=True, metavar="PARQUET")
    load.set_defaults(run=_import)


def _export(options: argparse.Namespace) -> None:
    from factdrift.edit.layouts.beside import read_beside
    from factdrift.edit.layouts.files import export

    beside = read_beside(options.shared, options.facts, options.related)
    done = export(options.dataset, options.layout, options.output, beside, options.need)
    left = f"; {done.left:,} do not fit the layout" if done.left else ""
    left += f"; {done.lacking:,} left out without {' or '.join(options.need)}" if done.lacking else ""
    print(f"{options.output}: {done.kept:,} updates{left}")
    for (field, reason), count in sorted(done.empty.items()):
        print(f"{count:,} without {field}: {reason}")


def _import(options: argparse.Namespace) -> None:
    from factdrift.edit.layouts.files import load

    kept, left = load(options.file, options.layout, options.output)
    print(f"{options.output}: {kept} updates" + (f"; {left} records left out" if left else ""))
