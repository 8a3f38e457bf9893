"""The page about two builds, with the layout of the page about one."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pyarrow as pa

from factdrift.core.files import write_text
from factdrift.pages.compare.causes import Cause
from factdrift.pages.compare.differences import CHANGES
from factdrift.pages.report.blocks import Section, Source, table
from factdrift.pages.report.page import render

MOST = 500
"""Rows of a table on the page; the Parquet file has all."""


def write_page(
    found: pa.Table,
    names: tuple[str, str],
    updates: tuple[int, int],
    why: Sequence[Cause] | None,
    output: Path,
) -> None:
    """Writes the page. `names`: the two builds; `updates`: how many each has; `why`: what differs in their
    manifests, None if one has none."""
    source = Source("differences.parquet", f"factdrift diff-builds {names[0]} {names[1]}")
    frame = found.to_pandas()
    counted = frame.groupby("change").agg(number=("change", "size"), cause=("cause", "first"))
    rows = [
        (change, text, int(counted["number"].get(change, 0)), counted["cause"].get(change))
        for change, text in CHANGES.items()
    ]
    sections = [
        Section(
            "counts",
            "What differs",
            "An update is one subject and relation. A cause is a key that differs between the manifests.",
            [
                table(
                    "Differences by kind",
                    {"kind": "text", "what it is": "text", "number": "number", "can be caused by": "text"},
                    pd.DataFrame(rows),
                    source,
                )
            ],
        )
    ]
    if why is not None:
        lead = "Keys of the manifests that can change the dataset and differ."
        causes = pd.DataFrame([each[:3] for each in why], columns=["key", "before", "after"])
        columns = dict.fromkeys(("key", names[0], names[1]), "text")
        if len(columns) < 3:
            columns = {"key": "text", f"{names[0]} (first)": "text", f"{names[1]} (second)": "text"}
        sections.append(Section("causes", "Causes", lead, [table("Manifests", columns, causes, source)]))
    flips = frame[frame["change"] == "label"]
    if len(flips):
        keys = ["rule_before", "rule_after", "before", "after"]
        by_rule = flips.groupby(keys).size().reset_index(name="number").sort_values("number", ascending=False)
        lead = "Objects that one build calls new, obsolete or static, and the other otherwise."
        headings = {"rule before": "text", "rule after": "text", "before": "text", "after": "text"}
        block = table("By rule", headings | {"number": "number"}, by_rule, source)
        sections.append(Section("flips", "Labels by rule", lead, [block]))
    if len(frame):
        shown = ["change", "subject", "relation", "object", "field", "before", "after"]
        note = f"The first {MOST:,} of {len(frame):,}." if len(frame) > MOST else ""
        block = table("Rows", dict.fromkeys(shown, "text"), frame[shown].head(MOST), source, note)
        sections.append(Section("rows", "Every difference", "In the order of the file.", [block]))
    headline = f"{names[0]} and {names[1]}" if len(frame) else f"{names[0]} and {names[1]} are the same"
    text = render(
        "builds.html",
        sections,
        headline=headline,
        counts=[
            ("updates of the first", updates[0]),
            ("of the second", updates[1]),
            ("differences", len(frame)),
        ],
        source=source,
    )
    write_text(text, output)
