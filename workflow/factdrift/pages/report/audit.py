"""The section about the audit of the datasets."""

import json

import pandas as pd
import pyarrow.parquet as pq

from factdrift.pages.report.blocks import Block, Build, Section, table

MOST = 500
"""Failures that the page lists."""


def audit(build: Build) -> Section | None:
    """Error rates by kind of check, failures with their reasons, and judgements by people."""
    account, findings = (build.product(f"audit.{suffix}", "audit") for suffix in ("json", "parquet"))
    if account is None or findings is None:
        return None
    summary = json.loads(account.read_text(encoding="utf-8"))
    source = build.source(account, "audit.json")
    blocks: list[Block] = []
    kinds = pd.DataFrame(summary["kinds"])
    for dataset, sampled in summary["sampled"].items():
        rows = kinds[kinds["dataset"] == dataset]
        note = f"{sampled['rows']:,} of {sampled['of']:,} rows sampled; 95 % intervals by Wilson's method."
        for each in summary["kinds"]:
            if each["dataset"] == dataset and each.get("note") and each["failed"]:
                note += f" Right rows fail {each['kind']} too: {each['note']}."
        blocks.append(
            table(
                f"Error rates of {dataset}",
                {"kind": "text", "rows": "number", "failed": "number", "declared": "number"}
                | {"rate": "share", "from": "share", "to": "share"},
                rows[["kind", "rows", "failed", "declared", "rate", "low", "high"]],
                source,
                f"{note} A declared failure is one that the row itself reports.",
            )
        )
    guessed = [
        (name, each["questions"], each["accuracy"], each["low"], each["high"], each["chance"])
        for name, each in summary["surface"].items()
    ]
    if guessed:
        blocks.append(
            table(
                "Answers guessed from the form of the options",
                {"dataset": "text", "questions": "number", "right": "share", "from": "share", "to": "share"}
                | {"chance": "share"},
                pd.DataFrame(guessed),
                source,
            )
        )
    failed = pq.read_table(findings, filters=[("outcome", "=", "failed")]).to_pandas()
    if len(failed):
        note = f"The first {MOST:,} of {len(failed):,}." if len(failed) > MOST else ""
        blocks.append(
            table(
                "Failures",
                {"row": "text", "kind": "text", "reason": "text"},
                failed[["row", "kind", "reason"]].head(MOST),
                build.source(findings, "audit.parquet"),
                note,
            )
        )
    judged = build.product("judged.json", "audit")
    if judged is not None:
        found = json.loads(judged.read_text(encoding="utf-8"))
        names = ("rows", "unsure", "invalid", "rate", "low", "high", "invalid_by_audit", "agree", "kappa")
        blocks.append(
            table(
                "Rows judged by people",
                {"rows": "number", "unsure": "number", "invalid": "number", "share": "share"}
                | {"from": "share", "to": "share", "invalid by the audit": "number", "agree": "number"}
                | {"Cohen's kappa": "share"},
                pd.DataFrame([[found[name] for name in names]]),
                build.source(judged, "audit.json"),
            )
        )
    lead = "A sample of the rows, checked against the dumps by code that shares nothing with the build's."
    return Section("audit", "Audit", lead, blocks)
