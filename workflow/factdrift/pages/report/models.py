"""Sections about benchmarks, language models and the audit: each is there only if its results are."""

import json
from collections.abc import Iterator
from typing import Any

import duckdb
import pandas as pd
import pyarrow.parquet as pq

from factdrift.core.tables import sql
from factdrift.pages import leaves, meanings
from factdrift.pages.report.blocks import Block, Build, Parts, Provenance, picture, table, text
from factdrift.tempripple.schemas import TASKS


def _results(build: Build, folder: str, target: str, *files: tuple[str, str]) -> Iterator[Block]:
    """The pictures and texts in a folder, (name, title) each, if the product `target` is there."""
    for name, title in files if build.product(target) else ():
        if path := build.product(name, folder):
            block = picture if path.suffix == ".svg" else text
            yield block(title, path, build.source(path, target))


def editing(build: Build, _: duckdb.DuckDBPyConnection) -> Parts:
    """Scores of editing methods: what was written, then Table 6 and Figure 2 of the WikiFactDiff paper."""
    target = "edit_scores.parquet"
    if build.product(target) is None:
        return "", []
    blocks: list[Block] = []
    if (path := build.product("table6.csv", "edit")) is not None:
        blocks.append(_table6(pd.read_csv(path), build.source(path, target)))
    pictures = [("written.svg", "What was written"), ("bleedover.svg", "Bleedover (Figure 2)")]
    parts = ("table7.txt", "Edits by what the model knew (Table 7), popularity, relation and object")
    blocks += _results(build, "edit", target, *pictures, ("table6.txt", "Tables as text"), parts)
    lead = (
        "What each method makes the model write, in other words too, and which other facts it loses; then "
        "the paper's metrics, from probabilities."
    )
    return lead, blocks


TABLE6 = {
    "model": ("model", "text"),
    "method": ("method", "text"),
    "edits": ("edits", "number"),
    "failed": ("failed", "number"),
    "not_finite": ("not finite", "number"),
    "written_correct": ("right", "share"),
    "written_stale": ("stale", "share"),
    "written_both": ("both", "share"),
    "written_refused": ("refused", "share"),
    "reworded_correct": ("right, other wordings", "share"),
    "nearest_kept": ("nearest kept", "share"),
    "nearest_lost": ("nearest lost", "share"),
    "efficacy_d": ("efficacy D", "interval"),
    "efficacy_s": ("efficacy S", "interval"),
    "generalization_d": ("general. D", "interval"),
    "generalization_s": ("general. S", "interval"),
    "bleedover_random": ("bleedover, random", "interval"),
    "bleedover_nearest": ("bleedover, nearest", "interval"),
    "bleedover_popular": ("bleedover, popular", "interval"),
    "fluency": ("fluency", "interval"),
    "seconds_per_edit": ("seconds", "share"),
}
"""Column of table6.csv -> heading and kind: what was written comes first, then Table 6 in its order."""


def _table6(frame: pd.DataFrame, source: Provenance) -> Block:
    """Table 6 with intervals; methods whose values were derived and not tuned have an asterisk."""
    frame = frame.astype(object).where(frame.notna(), None)
    derived = [str(origin).startswith("derived, not tuned") for origin in frame.get("source", ())]
    columns = {name: kind for name, kind in TABLE6.items() if name in frame and frame[name].notna().any()}
    rows = []
    for index, row in enumerate(frame.to_dict("records")):
        if derived and derived[index]:
            row["method"] += "*"
        for name, (_, kind) in columns.items():
            if kind == "interval" and row[name] is not None:
                row[name] = row[name], row.get(f"{name}_ci95")
        rows.append([row[name] for name in columns])
    note = (
        "First what was written, in %: of the update's own wording, others, and of the nearest facts, right "
        "before and after (kept) or only before (lost). Then means with 95 % confidence intervals; all but "
        "fluency and seconds times 100."
    )
    if any(derived):
        note += " * The values of its hyper-parameters are derived, not tuned for this model."
    headings = "; ".join(map(": ".join, columns.values()))
    return table("What was written, and Table 6, all edits", headings, rows, source, note)


def ripples(build: Build, db: duckdb.DuckDBPyConnection) -> Parts:
    """Probes of what follows from updates by criterion, and the answers of models to them."""
    blocks: list[Block] = []
    if (path := build.product("ripples.parquet")) is not None:
        counts = db.sql(
            f"""SELECT criterion, count(*), count(DISTINCT update),
                CASE must_change WHEN TRUE THEN 'yes' WHEN FALSE THEN 'no' ELSE 'not known' END
            FROM read_parquet({sql(path)}) GROUP BY criterion, must_change
            ORDER BY criterion, must_change DESC"""
        ).fetchall()
        means = meanings()
        rows = [(name.replace("_", " "), means[f"criterion {name}"], *numbers) for name, *numbers in counts]
        kinds = "criterion; what is asked; probes: number; updates: number; an edit must change it"
        blocks.append(table("Probes by criterion", kinds, rows, build.source(path)))
    shares = [(f"ripples.{suffix}", "Shares right by criterion") for suffix in ("svg", "txt")]
    blocks += _results(build, "answer", "ripple_scores.parquet", *shares)
    return "What follows from an update, what it must leave alone, and what was true before.", blocks


PARTS = {"c": "consistency", "r": "relevance", "u": "unbiasedness"}
"""Subtasks of KLoB."""
ROLES = {"single": "first fact", "chain": "two facts", "expr": "wording", "random": "random words"}
"""Roles of KLoB's sentences, in words."""


def klob(build: Build, db: duckdb.DuckDBPyConnection) -> Parts:
    """Sentences and counts of KLoB, and locating methods judged by it."""
    blocks: list[Block] = []
    rows = []
    source = None
    for part, what in PARTS.items():
        if path := build.product(f"klob_{part}.parquet"):
            source = build.source(path)
            # Of an example of the most popular subject.
            ((sentences,),) = db.sql(
                f"SELECT first(sentences ORDER BY pop_s DESC, file_row_number) "
                f"FROM read_parquet({sql(path)}, file_row_number = true)"
            ).fetchall()
            rows += [
                (
                    f"KLoB-{part}, {what}",
                    ROLES[sentence["role"]],
                    sentence["text_blank"],
                    sentence["target_label"] or "",
                )
                for sentence in sentences or ()
            ]
    if source is not None:
        blocks.append(table("Sentences of KLoB", "subtask; which; sentence; answer", rows, source))
    if (path := build.product("klob_meta.json")) is not None:
        meta = json.loads(path.read_text(encoding="utf-8"))
        source = build.source(path)
        for title, name in (("Sizes (Table 1)", "table1"), ("Candidates that were dropped", "dropped")):
            blocks += _counts(title, meta[name], source)
        relations = [[row[name] for name in ("pid", "label", "quota", "examples")] for row in meta["table2"]]
        columns = "id; relation; wanted: number; examples: number"
        title = "Examples of KLoB-c by relation (Table 2)"
        blocks.append(table(title, columns, relations, source, folded=True))
    for kind in ("figure_{}.svg", "table_{}.txt"):
        parts = [(kind.format(part), f"KLoB-{part}, {what}") for part, what in PARTS.items()]
        blocks += _results(build, "locate", "locate_scores.parquet", *parts)
    against = [(f"vs_edit.{suffix}", "Locating against editing") for suffix in ("svg", "txt")]
    blocks += _results(build, "locate", "locate_vs_edit.parquet", *against)
    return "Is a method that says where a model stores a fact consistent, relevant and unbiased?", blocks


def tempripple(build: Build, db: duckdb.DuckDBPyConnection) -> Parts:
    """Questions and counts of TempRIPPLE, and the answers of models to it."""
    blocks: list[Block] = []
    if (path := build.product("tr_items.parquet", "tempripple")) is not None:
        # Of each task and hop one that tells old from new: the lowest item's.
        rows = db.sql(
            f"""SELECT ({sql(TASKS)})[task], hop, question, array_to_string(options, ', '), answer_label
            FROM read_parquet({sql(path)}, file_row_number = true)
            WHERE options IS NOT NULL AND discriminates
            QUALIFY row_number() OVER (PARTITION BY task, hop
                ORDER BY substr(s, 2)::INTEGER, file_row_number) = 1
            ORDER BY task, hop"""
        ).fetchall()
        kinds = "task; hop: number; question; options; right"
        source = build.source(path, "tempripple.parquet")
        blocks.append(table("Questions of TempRIPPLE", kinds, rows, source))
    if (path := build.product("tr_stats.json", "tempripple")) is not None:
        stats = json.loads(path.read_text(encoding="utf-8"))
        source = build.source(path, "tempripple.stats.json")
        blocks += _counts("Sizes", stats["sizes"], source)
        items = {name: group["items"] for name, group in stats["items"].items() if "items" in group}
        blocks += _counts("Items by task and hop", items, source)
        dropped = {
            kind: {reason: number["all"] for reason, number in reasons.items()}
            for kind, reasons in stats["dropped"].items()
        }
        blocks += _counts("Candidates that were dropped", dropped, source)
    scores = [("figure3.svg", "Accuracy by hop"), ("table2.txt", "Accuracy by task (Table 2)")]
    scores.append(("table3.txt", "Accuracy by hop (Table 3)"))
    blocks += _results(build, "answer", "answer_scores.parquet", *scores)
    every = ("grid.txt", "What was written, and every benchmark in every state")
    blocks += _results(build, "answer", "answer_grid.parquet", every)
    return "TempRIPPLE asks what changed in a period, and what follows from it over up to three hops.", blocks


def verbalizations(build: Build, _: duckdb.DuckDBPyConnection) -> Parts:
    """Which sentences of a chat model were dropped, and why."""
    path = build.product("verbalization_report.txt")
    lead = "Each sentence of the chat model is judged; the templates come from those that are left."
    return lead, [text("By relation", path, build.source(path))] if path else []


def _counts(title: str, value: Any, source: Provenance) -> Iterator[Block]:
    """A table of all numbers in nested dictionaries, if there are any."""
    rows = [
        (name, number)
        for name, number in leaves(value, ", ")
        if isinstance(number, int | float) and not isinstance(number, bool)
    ]
    if rows:
        cells = pd.DataFrame(rows).itertuples(index=False)
        yield table(title, "what; number: number", cells, source, folded=True)


def cutoff(build: Build, db: duckdb.DuckDBPyConnection) -> Parts:
    """The date of each model with its interval, and the picture, which is beside the table."""
    if build.cutoff is None:
        return "", []
    rows = db.sql(
        f"""SELECT model, way, reading, if(subset = value, value, subset || ' ' || value), informative,
            CASE verdict WHEN 'date' THEN date WHEN 'before' THEN 'before ' || first_date
                WHEN 'after' THEN 'after ' || last_date ELSE 'no date can be told' END,
            low, high, latest, tau, eps, p
        FROM read_parquet({sql(build.cutoff)}) WHERE subset IN ('all', 'relation', 'popularity', 'deaths')"""
    ).fetchall()
    columns = (
        "model; way; reading; of; chains: number; answers as of; not before; not after; latest knowledge; "
        "spread, days: number; says nothing: share; p: share"
    )
    note = (
        "Without a bound the interval reaches an end of the stream. Spread: how far the knowledge of single "
        "facts is from the date. Says nothing: the share of answers that do not depend on time."
    )
    blocks = [table("Dates of models", columns, rows, build.source(build.cutoff), note)]
    drawn = build.cutoff.with_suffix(".svg")
    if drawn.is_file():
        title = "Changes whose later holder a model prefers, by quarter"
        blocks.insert(0, picture(title, drawn, build.source(drawn)))
    return "As of which date does a model answer, judged by who it says holds what has changed hands?", blocks


MOST_FAILURES = 500
"""Failures of the audit that the page lists."""


def audit(build: Build, _: duckdb.DuckDBPyConnection) -> Parts:
    """Error rates by kind of check, failures with their reasons, and judgements by people."""
    account, findings = (build.product(f"audit.{suffix}", "audit") for suffix in ("json", "parquet"))
    if account is None or findings is None:
        return "", []
    summary = json.loads(account.read_text(encoding="utf-8"))
    source = build.source(account, "audit.json")
    blocks: list[Block] = []
    interval = "from: share; to: share"
    columns = f"kind; rows: number; failed: number; declared: number; rate: share; {interval}"
    for dataset, sampled in summary["sampled"].items():
        kinds = [row for row in summary["kinds"] if row["dataset"] == dataset]
        note = f"{sampled['rows']:,} of {sampled['of']:,} rows sampled; 95 % intervals by Wilson's method."
        for row in kinds:
            if row.get("note") and row["failed"]:
                note += f" Right rows fail {row['kind']} too: {row['note']}."
        note += " A declared failure is one that the row itself reports."
        names = ("kind", "rows", "failed", "declared", "rate", "low", "high")
        rows = [[row[name] for name in names] for row in kinds]
        blocks.append(table(f"Error rates of {dataset}", columns, rows, source, note))
    guessed = [
        (dataset, *(row[name] for name in ("questions", "accuracy", "low", "high", "chance")))
        for dataset, row in summary["surface"].items()
    ]
    if guessed:
        columns = f"dataset; questions: number; right: share; {interval}; chance: share"
        blocks.append(table("Answers guessed from the form of the options", columns, guessed, source))
    if failed := pq.read_table(findings, filters=[("outcome", "=", "failed")]).to_pylist():
        note = f"The first {MOST_FAILURES:,} of {len(failed):,}." if len(failed) > MOST_FAILURES else ""
        rows = [[row[name] for name in ("row", "kind", "reason")] for row in failed[:MOST_FAILURES]]
        source = build.source(findings, "audit.parquet")
        blocks.append(table("Failures", "row; kind; reason", rows, source, note))
    lead = "A sample of the rows, checked against the dumps by code of its own."
    return lead, blocks
