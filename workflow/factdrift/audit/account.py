"""Error rates of an audit, by kind of check and of all kinds together."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from factdrift.audit.kinds import DATASETS, DECLARED, FAILED, KINDS, UNCHECKED
from factdrift.core.columns import Row, schema_of
from factdrift.core.intervals import wilson

AUDIT = schema_of("dataset row relation rule kind outcome reason: string")
"""One row per audited row and kind of check; of a kind that fails, one per failure."""

MOST = 20
"""Failures that the text names."""

_TOGETHER = {
    "role": "all checks of the fact itself",
    "any": "all checks of the row but those that some rows of a right build fail",
}
"""All checks of a sampled row together, without those of whole tables and of what is missing."""


def rates(
    findings: Iterable[Row], whole: Mapping[tuple[str, str], int] | None = None
) -> list[dict[str, Any]]:
    """For each dataset and kind: rows checked and failed, the share of failures, Wilson's 95 % interval.

    `whole`: dataset and kind -> rows, of checks that look at all rows. The kinds `role` and `any` count the
    sampled rows that fail any check of the fact itself, and any check that no right row fails.
    """
    whole = whole or {}
    rows: dict[tuple[str, str], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for finding in findings:
        kind = finding["kind"]
        if kind == "surface":
            continue
        rows[finding["dataset"], kind][finding["outcome"]].add(finding["row"])
        if is_of_a_row(kind):
            together = ["role"] * KINDS[kind].role + ["any"] * (not KINDS[kind].note)
            for name in together:
                rows[finding["dataset"], name][finding["outcome"]].add(finding["row"])
    order = [*KINDS, *_TOGETHER]
    table = []
    for dataset, kind in sorted(rows, key=lambda key: (DATASETS.index(key[0]), order.index(key[1]))):
        outcomes = rows[dataset, kind]
        failed = outcomes[FAILED]
        every = set().union(*outcomes.values())
        checked = set().union(*(ids for name, ids in outcomes.items() if name != UNCHECKED))
        number = whole.get((dataset, kind), len(checked))
        table.append(
            {
                "dataset": dataset,
                "kind": kind,
                "description": KINDS[kind].description if kind in KINDS else _TOGETHER[kind],
                "note": KINDS[kind].note if kind in KINDS else "",
                "rows": number,
                "failed": len(failed),
                "declared": len(outcomes[DECLARED] - failed),
                "unchecked": len(every - checked),
                **share(min(len(failed), number), number, exact=(dataset, kind) in whole),
            }
        )
    return table


def is_of_a_row(kind: str) -> bool:
    """Whether a kind checks one sampled row, rather than a whole table or what is missing from it."""
    return not KINDS[kind].whole and kind not in ("missing", "surface")


def share(count: int, total: int, exact: bool = False) -> dict[str, float | None]:
    """A share with its 95 % Wilson interval: `rate`, `low`, `high`; None where nothing was counted.

    `exact`: all rows were looked at, so the interval is the share itself.
    """
    if not total:
        return {"rate": None, "low": None, "high": None}
    if exact:
        return dict.fromkeys(("rate", "low", "high"), count / total)
    low, high = wilson(count, total)
    return {"rate": count / total, "low": low, "high": high}


def text_of(summary: Mapping[str, Any], findings: Sequence[Row]) -> Iterator[str]:
    """The lines of an audit for people: rates by kind, guesses from the surface, failures."""
    drawn = summary["drawn"]
    parts = ", ".join(
        f"{stratum['subjects']:,} of {stratum['of']:,} {name}" for name, stratum in drawn["strata"].items()
    )
    yield f"subjects drawn from the new dump: {parts}; the rules make {drawn['updates']:,} updates of them"
    for dataset in DATASETS:
        counts = summary["sampled"].get(dataset)
        kinds = [kind for kind in summary["kinds"] if kind["dataset"] == dataset]
        rows = "every record and file"
        if counts is not None:
            rows = f"{counts['rows']:,} of {counts['of']:,} rows audited" if counts["rows"] else "all rows"
        elif not kinds:
            continue
        yield f"{dataset}: {rows}"
        yield f"  {'kind':18}{'rows':>7}{'failed':>8}{'declared':>10}   rate  95 % interval"
        for kind in kinds:
            line = f"  {kind['kind']:18}{kind['rows']:7,}{kind['failed']:8,}{kind['declared']:10,}"
            if kind["rows"]:
                line += f"{kind['rate']:7.1%}  {kind['low']:.1%} to {kind['high']:.1%}"
            yield line + (f"  ({kind['unchecked']} not checked)" if kind["unchecked"] else "")
        for kind in kinds:
            if kind["note"] and kind["failed"]:
                yield f"  {kind['kind']}: right rows fail it too, since {kind['note']}"
        for column, reason in summary["unchecked"].get(dataset, {}).items():
            yield f"  not checked: {column} ({reason})"
        if guess := summary["surface"].get(dataset):
            yield (
                f"  from the form of the options alone: {guess['accuracy']:.1%} right "
                f"({guess['low']:.1%} to {guess['high']:.1%}) of {guess['questions']:,}, chance "
                f"{guess['chance']:.1%}"
            )
    failures = [finding for finding in findings if finding["outcome"] == FAILED]
    failures.sort(key=lambda failure: bool(KINDS[failure["kind"]].note))
    if failures:
        yield f"failures: {len(failures):,}" + (f", of which {MOST}:" if len(failures) > MOST else ":")
    for failure in failures[:MOST]:
        yield f"  {failure['row']} {failure['kind']}: {failure['reason']}"
