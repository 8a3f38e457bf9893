"""Sections about benchmarks and language models: each is there only if its results have been built."""

import filecmp
import json
from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from factdrift.pages import leaves
from factdrift.pages.report.blocks import Block, Build, Section, Source, Table, picture, table, text
from factdrift.tempripple.schemas import TASKS


def _results(
    build: Build,
    folder: str,
    target: str,
    pictures: Sequence[tuple[str, str]],
    texts: Sequence[tuple[str, str]],
) -> Iterator[Block]:
    """The pictures and texts in a folder, (name, title) each, if the product of that name is there."""
    if build.product(target) is None:
        return
    for name, title in pictures:
        if path := build.product(f"{name}.svg", folder):
            yield picture(title, path, build.source(path, target))
    for name, title in texts:
        if path := build.product(f"{name}.txt", folder):
            yield text(title, path, build.source(path, target))


def editing(build: Build) -> Section | None:
    """Scores of editing methods: what was written, then Table 6 and Figure 2 of the WikiFactDiff paper."""
    if build.product("edit_scores.parquet") is None:
        return None
    target = "edit_scores.parquet"
    blocks: list[Block] = []
    path = build.product("table6.csv", "edit")
    if path is not None:
        blocks.append(_table6(pd.read_csv(path), build.source(path, target)))
    pictures = [("written", "What was written"), ("bleedover", "Bleedover (Figure 2)")]
    texts = [("table6", "Tables as text"), ("table7", "The same of facts that the model knew (Table 7)")]
    blocks += _results(build, "edit", target, pictures, texts)
    blocks += _compared(build)
    lead = (
        "What each method makes the model write, in other words too, and which other facts it loses; then "
        "the paper's metrics, from probabilities."
    )
    return Section("editing", "Editing", lead, blocks)


def _compared(build: Build) -> Iterator[Block]:
    """What `factdrift compare` has written about these scores last."""
    drawn = build.results / "compare" / "compare.svg"
    same = [build.results / "edit_scores.parquet", build.pair / "edit_scores.parquet"]
    if not all(path.is_file() for path in (drawn, *same)):
        return
    if not filecmp.cmp(same[0], same[1], shallow=False):
        return
    if drawn.stat().st_mtime_ns >= same[0].stat().st_mtime_ns:
        command = "factdrift compare METHOD METHOD"
        yield picture("Methods compared", drawn, Source("compare/compare.svg", command))
        yield text("In words", drawn.with_suffix(".txt"), Source("compare/compare.txt", command))


WRITTEN = {
    "written_correct": "right",
    "written_stale": "stale",
    "written_both": "both",
    "written_refused": "refused",
    "reworded_correct": "right, other wordings",
    "nearest_kept": "nearest kept",
    "nearest_lost": "nearest lost",
}
"""Columns of what was written, which come first."""

MEANS = {
    "efficacy_d": "efficacy D",
    "efficacy_s": "efficacy S",
    "generalization_d": "general. D",
    "generalization_s": "general. S",
    "bleedover_random": "bleedover, random",
    "bleedover_nearest": "bleedover, nearest",
    "fluency": "fluency",
}
"""Columns of Table 6 with intervals, in its order."""


def _table6(frame: pd.DataFrame, source: Source) -> Table:
    """Table 6 with intervals; methods whose values were derived and not tuned have an asterisk."""
    derived = pd.Series(False, frame.index)
    if "source" in frame.columns:
        derived = frame["source"].fillna("").str.startswith("derived, not tuned")
    columns: dict[str, str] = {}
    cells: dict[str, Any] = {}
    for name in ("model", "method", "edits", "failed", "not_finite"):
        if name in frame.columns:
            columns[name.replace("_", " ")] = "text" if name in ("model", "method") else "number"
            cells[name] = frame[name]
    cells["method"] = frame["method"] + derived.map({True: "*", False: ""})
    for name, title in WRITTEN.items():
        if name in frame.columns:
            columns[title] = "share"
            cells[name] = frame[name].astype(object).where(frame[name].notna(), None)
    for name, title in MEANS.items():
        if name in frame.columns:
            columns[title] = "interval"
            halves = frame.get(f"{name}_ci95", pd.Series(float("nan"), frame.index))
            cells[name] = [
                None if pd.isna(mean) else (mean, None if pd.isna(half) else half)
                for mean, half in zip(frame[name], halves, strict=True)
            ]
    if "seconds_per_edit" in frame.columns:
        columns["seconds"] = "share"
        cells["seconds_per_edit"] = frame["seconds_per_edit"]
    note = (
        "First what was written, in %: of the update's own wording, others, and of the nearest facts, right "
        "before and after (kept) or only before (lost). Then means with 95 % confidence intervals; all but "
        "fluency and seconds times 100."
    )
    if derived.any():
        note += " * The values of its hyper-parameters are derived, not tuned for this model."
    return table(
        "What was written, and Table 6, all edits", columns, pd.DataFrame(cells, dtype=object), source, note
    )


def ripples(build: Build) -> Section | None:
    """Probes of what follows from updates by criterion, and the answers of models to them."""
    blocks: list[Block] = []
    path = build.product("ripples.parquet")
    if path is not None:
        probes = pd.read_parquet(path, columns=["criterion", "update", "must_change"])
        counts = probes.groupby("criterion", as_index=False).agg(
            probes=("update", "size"), updates=("update", "nunique"), changes=("must_change", "first")
        )
        counts["changes"] = counts["changes"].map({True: "yes", False: "no"})
        kinds: dict[str, str] = {"criterion": "text", "probes": "number", "updates": "number"}
        kinds["an edit must change it"] = "text"
        blocks.append(table("Probes by criterion", kinds, counts, build.source(path)))
    shares = [("ripples", "Shares right by criterion")]
    blocks += _results(build, "answer", "ripple_scores.parquet", shares, shares)
    lead = "What follows from an update, what it must leave alone, and what was true before."
    return Section("ripples", "Ripples", lead, blocks) if blocks else None


PARTS = {"c": "consistency", "r": "relevance", "u": "unbiasedness"}
"""Subtasks of KLoB."""
ROLES = {"single": "first fact", "chain": "two facts", "expr": "wording", "random": "random words"}
"""Roles of KLoB's sentences, in words."""


def _sentences(build: Build) -> Iterator[Table]:
    """The sentences of an example of each subtask of KLoB, of the most popular subject."""
    rows: list[tuple[str, str, str, str]] = []
    found = None
    for part, what in PARTS.items():
        path = build.product(f"klob_{part}.parquet")
        if path is None:
            continue
        found = path
        frame = pd.read_parquet(path, columns=["pop_s", "sentences"])
        sentences = frame.sort_values("pop_s", ascending=False, kind="stable")["sentences"].iloc[:1]
        rows += [
            (f"KLoB-{part}, {what}", ROLES[one["role"]], one["text_blank"], one["target_label"] or "")
            for one in sentences.explode().dropna()
        ]
    if found is not None:
        columns = dict.fromkeys(("subtask", "which", "sentence", "answer"), "text")
        yield table("Sentences of KLoB", columns, pd.DataFrame(rows), build.source(found, "klob"))


def _questions(build: Build) -> Iterator[Table]:
    """A question of each task and hop of TempRIPPLE: of those that tell old from new, the lowest item's."""
    path = build.product("tr_items.parquet", "tempripple")
    if path is None:
        return
    columns = ["task", "hop", "s", "question", "options", "answer_label", "discriminates"]
    frame = pd.read_parquet(path, columns=columns)
    frame = frame[frame["options"].notna() & frame["discriminates"].eq(True)]
    frame["number"] = frame["s"].str[1:].astype(int)
    chosen = frame.sort_values(["task", "hop", "number"], kind="stable").drop_duplicates(["task", "hop"])
    rows = [
        (TASKS[row["task"] - 1], row["hop"], row["question"], ", ".join(row["options"]), row["answer_label"])
        for row in chosen.to_dict("records")
    ]
    kinds = {"task": "text", "hop": "number", "question": "text", "options": "text", "right": "text"}
    yield table(
        "Questions of TempRIPPLE", kinds, pd.DataFrame(rows), build.source(path, "tempripple.parquet")
    )


def klob(build: Build) -> Section | None:
    """Sentences and counts of KLoB, and locating methods judged by it."""
    blocks: list[Block] = [*_sentences(build)]
    path = build.product("klob_meta.json")
    if path is not None:
        meta = json.loads(path.read_text(encoding="utf-8"))
        source = build.source(path)
        for title, name in (("Sizes (Table 1)", "table1"), ("Candidates that were dropped", "dropped")):
            blocks += _counts(title, meta[name], source)
        relations = pd.DataFrame(meta["table2"])[["pid", "label", "quota", "examples"]]
        columns: dict[str, str] = {
            "id": "text",
            "relation": "text",
            "wanted": "number",
            "examples": "number",
        }
        title = "Examples of KLoB-c by relation (Table 2)"
        blocks.append(table(title, columns, relations, source, folded=True))
    figures, tables = (
        [(f"{kind}_{part}", f"KLoB-{part}, {what}") for part, what in PARTS.items()]
        for kind in ("figure", "table")
    )
    blocks += _results(build, "locate", "locate_scores.parquet", figures, tables)
    against = [("vs_edit", "Locating against editing")]
    blocks += _results(build, "locate", "locate_vs_edit.parquet", against, against)
    lead = "Is a method that says where a model stores a fact consistent, relevant and unbiased?"
    return Section("klob", "KLoB and locating", lead, blocks) if blocks else None


def tempripple(build: Build) -> Section | None:
    """Questions and counts of TempRIPPLE, and the answers of models to it."""
    blocks: list[Block] = [*_questions(build)]
    path = build.product("tr_stats.json", "tempripple")
    if path is not None:
        stats = json.loads(path.read_text(encoding="utf-8"))
        source = build.source(path, "tempripple.stats.json")
        blocks += _counts("Sizes", stats["sizes"], source)
        items = {name: each["items"] for name, each in stats["items"].items() if "items" in each}
        blocks += _counts("Items by task and hop", items, source)
        dropped = {
            kind: {reason: number["all"] for reason, number in reasons.items()}
            for kind, reasons in stats["dropped"].items()
        }
        blocks += _counts("Candidates that were dropped", dropped, source)
    texts = [("table2", "Accuracy by task (Table 2)"), ("table3", "Accuracy by hop (Table 3)")]
    blocks += _results(build, "answer", "answer_scores.parquet", [("figure3", "Accuracy by hop")], texts)
    completed = [("clozes", "What models complete")]
    blocks += _results(build, "answer", "answer_clozes.parquet", [], completed)
    every = [("grid", "What was written, and every benchmark in every state")]
    blocks += _results(build, "answer", "answer_grid.parquet", [], every)
    lead = "TempRIPPLE asks what changed in a period, and what follows from it over up to three hops."
    return Section("tempripple", "TempRIPPLE and answering", lead, blocks) if blocks else None


def verbalizations(build: Build) -> Section | None:
    """Which sentences of a chat model were dropped, and why."""
    path = build.product("verbalization_report.txt")
    if path is None:
        return None
    lead = "Each sentence of the chat model is judged; the templates come from those that are left."
    block = text("By relation", path, build.source(path))
    return Section("verbalizations", "Sentences of a chat model", lead, [block])


def _counts(title: str, value: Any, source: Source) -> Iterator[Table]:
    """A table of all numbers in nested dictionaries, if there are any."""
    rows = [
        (name, number)
        for name, number in leaves(value, ", ")
        if isinstance(number, int | float) and not isinstance(number, bool)
    ]
    if rows:
        yield table(title, {"what": "text", "number": "number"}, pd.DataFrame(rows), source, folded=True)
