"""How far the numbers of editing move from one training of a bundled model to the next.

    python benchmarks/trainings.py results/2021-01-04_2023-02-27 --dataset results/wfd_repl.parquet \
        --record benchmarks/RESULTS.md

Trains the model with several seeds, on the sentences of a finished run of the workflow, and edits each
training with every method. All else is the same: the edits, and the seed of prefixes and of MEND. Each column
of Table 6 is given as its mean over the trainings, with the least and the greatest value. With `--parts
FOLDER` the numbers of each training are kept there, and an interrupted run goes on with the next training.
"""

import argparse
import contextlib
import csv
import json
import sys
import tempfile
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from statistics import fmean

from record import add_record, record

from factdrift import cli
from factdrift.core.owned import atomic_path
from factdrift.core.paths import CONFIG
from factdrift.evaluation.methods.hyperparameters import Plan
from factdrift.evaluation.methods.record import title_of
from factdrift.evaluation.scores.table import COLUMNS

METHODS = ("none", "ft", "ft_l", "mend", "rome", "memit", "prompt")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pair", type=Path, help="results/OLD_NEW, in which the sample model was edited")
    parser.add_argument("--dataset", type=Path, required=True, help="results/wfd_repl.parquet")
    parser.add_argument("--recipe", type=Path, default=CONFIG / "models" / "sample-llama.yaml")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--parts", type=Path, help="folder of the trainings that have ended")
    add_record(parser)
    options = parser.parse_args()
    found: dict[str, list[dict[str, float]]] = {method: [] for method in options.methods}
    recalls = []
    for seed in range(options.seeds):
        recall, scores = kept(seed, options)
        recalls.append(recall)
        for method, values in scores.items():
            found[method].append(values)
    record(
        f"Editing after {options.seeds} trainings of {options.recipe.stem} (`trainings.py`)",
        ["method", *(score.title for score in COLUMNS.values())],
        [
            [
                title_of(method),
                *(spread([one[column] for one in values if column in one]) for column in COLUMNS),
            ]
            for method, values in found.items()
        ],
        f"Mean over the trainings (least to greatest). Recall of wordings that were kept back: "
        f"{spread([100 * recall for recall in recalls])} %.",
        options.record,
    )


def spread(values: Sequence[float]) -> str:
    return f"{fmean(values):.1f} ({min(values):.1f} to {max(values):.1f})" if values else "-"


def kept(seed: int, options: argparse.Namespace) -> tuple[float, dict[str, dict[str, float]]]:
    """What `trained` gives, read from the folder of parts if a former run left it there."""
    made_of = (options.pair / "models/sentences.parquet", options.recipe)
    digest = sha256(b"".join(path.read_bytes() for path in made_of) + repr(options.methods).encode())
    part = options.parts and options.parts / f"{options.recipe.stem}.{digest.hexdigest()[:12]}.{seed}.json"
    if part and part.exists():
        return tuple(json.loads(part.read_text(encoding="utf-8")))
    with tempfile.TemporaryDirectory() as folder:
        # The last part of the path is the name by which hyper-parameters are found.
        found = trained(Path(folder) / options.recipe.stem, seed, options)
    if part:
        part.parent.mkdir(parents=True, exist_ok=True)
        with atomic_path(part) as path:
            path.write_text(json.dumps(found), encoding="utf-8")
    return found


def trained(model: Path, seed: int, options: argparse.Namespace) -> tuple[float, dict[str, dict[str, float]]]:
    """Recall of one training, and by method the columns of Table 6 of the edits that were made in it."""
    folder, pair = model.parent, options.pair
    sentences = pair / "models/sentences.parquet"
    factdrift("models train", sentences=sentences, recipe=options.recipe, seed=seed, output=model)
    plan = Plan({"models": [str(model)], "methods": list(options.methods)})
    edits, named = pair / "edit/edits.parquet", {"model": model}
    read = {"benchmark": "updates", "questions": edits, **named, "settings": '{"device": "cpu"}'}
    read["parts"] = folder / "parts"
    layers = plan.layers(str(model))
    if layers:
        factdrift("models moments", **named, layers=layers, facts=sentences, output=folder / "moments")
    runs: dict[str, list[Path]] = {"answers": [], "edits": [], "states": [], "run": []}
    for method in options.methods:
        needs = {option: folder / name for option, name in plan.needs(method, str(model)).items()}
        if "prefixes" in needs:
            factdrift("edit prefixes", **named, method=method, output=needs["prefixes"])
        if "mend" in needs:
            given = {"dataset": options.dataset, "templates": pair / "templates.parquet", "edits": edits}
            split = folder / "split.json"
            factdrift("edit mend-train", **given, **named, **{"out-split": split}, output=needs["mend"])
        out = {name: folder / f"{method}.{name}" for name in runs}
        factdrift("evaluate", **read, method=method, **needs, **{f"out-{name}": out[name] for name in out})
        for name, path in out.items():
            runs[name].append(path)
    tables = {"scores": folder / "scores.parquet", "written": folder / "written.parquet"}
    tables |= {"costs": folder / "costs.json"}
    factdrift(
        "edit scores",
        **{"edits": edits, "answers": runs["answers"], "made": runs["edits"], "states": runs["states"]},
        **{"costs": runs["run"], "models": str(model), "methods": options.methods},
        **{f"out-{name}": path for name, path in tables.items()},
        **{"out-probes": folder / "probes.parquet"},
    )
    factdrift("edit table", **tables, output=folder)
    with (folder / "table6.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["kind"] == "replace"]
    values = {row["method"]: {name: float(row[name]) for name in COLUMNS if row[name]} for row in rows}
    return recall_of(model), values


def recall_of(model: Path) -> float:
    found = json.loads((model / "recall.json").read_text(encoding="utf-8"))
    recall: float = found["held_out"]["recall"]
    return recall


def factdrift(command: str, **options: object) -> None:
    """Runs a command of the package as the workflow does; what it prints goes to the error output."""
    line = command.split()
    for name, value in options.items():
        values = value if isinstance(value, list | tuple) else [value]
        line += [f"--{name}", *map(str, values)]
    print("factdrift", *line, file=sys.stderr)
    with contextlib.redirect_stdout(sys.stderr):
        code = cli.main(line)
    if code:
        raise SystemExit(code)


if __name__ == "__main__":
    main()
