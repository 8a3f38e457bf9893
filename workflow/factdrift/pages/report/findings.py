"""What a build shows, in three sentences that can be read in ten seconds."""

import datetime
from collections.abc import Iterator
from typing import NamedTuple

import duckdb
import pandas as pd
from babel.dates import format_date
from babel.lists import format_list
from markupsafe import Markup

from factdrift.core.tables import sql
from factdrift.pages import shown
from factdrift.pages.report.blocks import Build
from factdrift.pages.report.world import updates_by_month
from factdrift.wikifactdiff.accounts import by_stage

FINDINGS = 3


class Finding(NamedTuple):
    """A sentence, and the section that shows more of it."""

    text: Markup
    section: str


def findings(build: Build, db: duckdb.DuckDBPyConnection) -> list[Finding]:
    """The first FINDINGS sentences for which the build has data: what changed, edits, when, what was lost."""
    every = (*_replaced(build, db), *edited(build), *_dated(build, db), *_decided(build, db))
    return list(every[:FINDINGS])


def _replaced(build: Build, db: duckdb.DuckDBPyConnection) -> Iterator[Finding]:
    """How many updates replace an object, and that of the most popular subject."""
    examples = db.sql(
        f"""SELECT relation.label, subject.label,
            list_filter(objects, lambda x: x.decision = 'obsolete')[1].label,
            list_filter(objects, lambda x: x.decision = 'new')[1].label, count(*) OVER ()
        FROM {build.numbered} WHERE is_replace ORDER BY place LIMIT 1"""
    ).fetchall()
    for *labels, number in examples:
        of, subject, old, new = (shown(label, 60) for label in labels)
        whole, kept = (build.stats[name]["updates"] for name in ("wikifactdiff", "wfd_repl"))
        yield Finding(
            Markup(
                "<b>In {:,} of {:,} updates</b> one object took the place of another; wfd_repl has {:,} of "
                "them to edit with. An example is the <bdi>{}</bdi> of <bdi>{}</bdi>: <bdi>{}</bdi>, then "
                "<bdi>{}</bdi>."
            ).format(number, whole, kept, of, subject, old, new),
            "updates",
        )


def edited(build: Build) -> Iterator[Finding]:
    """The editing method that writes the new object most often, and what it loses."""
    path = build.product("table6.csv", "edit")
    frame = pd.read_csv(path) if path is not None and build.product("edit_scores.parquet") else pd.DataFrame()
    if "written_correct" not in frame:
        return
    made = frame[(frame["method"] != "none") & frame["written_correct"].notna()]
    for best in made.nlargest(1, "written_correct").to_dict("records"):
        methods, lost, name = made["method"].nunique(), best["nearest_lost"], best["method"]
        of = f", the best of {methods} methods" if methods > 1 else ""
        besides = "" if pd.isna(lost) else f"; {lost:.0f} % of the nearest facts are lost"
        text = "<b>After {:.0f} % of {:,} edits</b> by {}{}, {} writes the new object{}."
        values = best["written_correct"], int(best["edits"]), name, of, best["model"], besides
        yield Finding(Markup(text).format(*values), "editing")


def _dated(build: Build, db: duckdb.DuckDBPyConnection) -> Iterator[Finding]:
    """The month or year with most updates, and the relations with most."""
    unit, counts, _ = updates_by_month(build, db)
    month = max(counts, key=lambda name: sum(counts[name]))
    relations = db.sql(
        f"""SELECT any_value(relation.label), count(*) AS updates, sum(count(*)) OVER ()
        FROM read_parquet({sql(build.dataset)}) GROUP BY relation.id
        ORDER BY updates DESC, relation.id LIMIT 3"""
    ).fetchall()
    if not any(counts[month]):
        return
    name = month
    if unit == "month":
        name = format_date(datetime.date.fromisoformat(f"{month}-01"), "MMMM y", locale="en")
    labels = [Markup("<bdi>{}</bdi>").format(shown(label, 60)) for label, *_ in relations]
    share = 100 * sum(number for _, number, _ in relations) / float(relations[0][2])
    text = "<b>The {} with most updates is {}</b>, with {:,}. Of all updates, {:.0f} % are about {}."
    listed = Markup(format_list(labels, locale="en"))
    yield Finding(Markup(text).format(unit, name, sum(counts[month]), share, listed), "time")


def _decided(build: Build, db: duckdb.DuckDBPyConnection) -> Iterator[Finding]:
    """How many triples of the dumps are in an update, and how many could not be decided."""
    stages = by_stage(db, build.pair / "funnel.parquet")
    whole, kept = sum(stages.get("difference", {}).values()), stages.get("groups", {}).get("kept", 0)
    unknown = stages.get("groups", {}).get("unknown", 0)
    text = (
        "<b>{:,} of the {:,} triples</b> in either dump are in an update; {:,} are left out because no rule "
        "decides about them or their group."
    )
    yield Finding(Markup(text).format(kept, whole, unknown), "funnel")
