"""Error rates of an audit: by kind of check, of all kinds together, and as people judge them."""

import csv
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from scipy.stats import binomtest
from sklearn.metrics import cohen_kappa_score

from factdrift.audit.kinds import DATASETS, DECLARED, FAILED, KINDS, UNCHECKED
from factdrift.core.errors import InputError

AUDIT = pa.schema(
    [(name, pa.string()) for name in ("dataset", "row", "relation", "rule", "kind", "outcome", "reason")]
)
"""One row per audited row and kind of check; of a kind that fails, one per failure."""

VERDICTS = ("valid", "invalid", "unsure")
"""What people may write into the column `judgement` of a sheet."""

Row = Mapping[str, Any]

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
    interval = binomtest(count, total).proportion_ci(method="wilson")
    return {"rate": count / total, "low": float(interval.low), "high": float(interval.high)}


def judged(sheet: Path, findings: Sequence[Row]) -> dict[str, Any]:
    """What people say of the rows of a sheet: shares of invalid rows, and how far they agree with the audit.

    `kappa` is Cohen's; None where either side calls all rows the same. Rows without a judgement do not count.
    Raises InputError that names the line of a judgement that is none, or of a row that was not audited.
    """
    failed: dict[tuple[str, str], bool] = {}
    for finding in findings:
        if not is_of_a_row(finding["kind"]):
            continue
        key = (finding["dataset"], finding["row"])
        bad = finding["outcome"] == FAILED and KINDS[finding["kind"]].role
        failed[key] = failed.get(key, False) or bad
    verdicts: dict[tuple[str, str], str] = {}
    for line, row in _lines(sheet):
        verdict = (row["judgement"] or "").strip().lower()
        key = (row["dataset"], row["row"])
        if key not in failed:
            raise InputError(f"{sheet}, line {line}: {key[1]} is not a row of this audit; write a new sheet")
        if verdict and verdict not in VERDICTS:
            raise InputError(f"{sheet}, line {line}: judgement {verdict!r}; write {', '.join(VERDICTS)}")
        if verdict and verdicts.setdefault(key, verdict) != verdict:
            raise InputError(f"{sheet}, line {line}: {key[1]} has another judgement above; keep one")
    sure = [key for key, verdict in verdicts.items() if verdict != "unsure"]
    people = [verdicts[key] == "invalid" for key in sure]
    audit = [failed[key] for key in sure]
    varied = len(set(people)) > 1 or len(set(audit)) > 1
    return {
        "rows": len(verdicts),
        "unsure": len(verdicts) - len(sure),
        "invalid": sum(people),
        **share(sum(people), len(sure)),
        "invalid_by_audit": sum(audit),
        "agree": sum(one == other for one, other in zip(people, audit, strict=True)),
        "kappa": float(cohen_kappa_score(people, audit)) if sure and varied else None,
        "disagreements": [
            key[1] for key, one, other in zip(sure, people, audit, strict=True) if one != other
        ],
    }


def _lines(sheet: Path) -> Iterator[tuple[int, dict[str, str]]]:
    try:
        with sheet.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            if not {"dataset", "row", "judgement"} <= set(reader.fieldnames or ()):
                raise InputError(f"{sheet}, line 1: the columns dataset, row and judgement are needed")
            for row in reader:
                yield reader.line_num, row
    except FileNotFoundError:
        raise InputError(f"{sheet}: no such file; write it with `factdrift audit sheet`") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{sheet}: not UTF-8 ({error}); save it as CSV in UTF-8") from None


def text_of(summary: Mapping[str, Any], findings: Sequence[Row], most: int = 20) -> Iterator[str]:
    """The lines of an audit for people: rates by kind, guesses from the surface, failures."""
    drawn = summary["drawn"]
    parts = ", ".join(
        f"{each['subjects']:,} of {each['of']:,} {name}" for name, each in drawn["strata"].items()
    )
    yield f"subjects drawn from the new dump: {parts}; the rules make {drawn['updates']:,} updates of them"
    for dataset in DATASETS:
        counts = summary["sampled"].get(dataset)
        if counts is None and not any(each["dataset"] == dataset for each in summary["kinds"]):
            continue
        if counts is None:
            yield f"{dataset}: every record and file"
        else:
            rows = f"{counts['rows']:,} of {counts['of']:,} rows audited" if counts["rows"] else "all rows"
            yield f"{dataset}: {rows}"
        yield f"  {'kind':18}{'rows':>7}{'failed':>8}{'declared':>10}   rate  95 % interval"
        for each in summary["kinds"]:
            if each["dataset"] == dataset:
                yield _rate_line(each)
        for each in summary["kinds"]:
            if each["dataset"] == dataset and each["note"] and each["failed"]:
                yield f"  {each['kind']}: right rows fail it too, since {each['note']}"
        for column, reason in summary["unchecked"].get(dataset, {}).items():
            yield f"  not checked: {column} ({reason})"
        guess = summary["surface"].get(dataset)
        if guess:
            yield (
                f"  from the form of the options alone: {guess['accuracy']:.1%} right "
                f"({guess['low']:.1%} to {guess['high']:.1%}) of {guess['questions']:,}, chance "
                f"{guess['chance']:.1%}"
            )
    failures = [each for each in findings if each["outcome"] == FAILED]
    failures.sort(key=lambda each: bool(KINDS[each["kind"]].note))
    if failures:
        yield f"failures: {len(failures):,}" + (f", of which {most}:" if len(failures) > most else ":")
    for each in failures[:most]:
        yield f"  {each['row']} {each['kind']}: {each['reason']}"


def _rate_line(each: Mapping[str, Any]) -> str:
    line = f"  {each['kind']:18}{each['rows']:7,}{each['failed']:8,}{each['declared']:10,}"
    if each["rows"]:
        line += f"{each['rate']:7.1%}  {each['low']:.1%} to {each['high']:.1%}"
    return line + (f"  ({each['unchecked']} not checked)" if each["unchecked"] else "")


def judged_text(sheet: Mapping[str, Any]) -> Iterator[str]:
    """The lines about judgements by people."""
    sure = sheet["rows"] - sheet["unsure"]
    yield f"judged by people: {sheet['rows']:,} rows, {sheet['unsure']:,} of them unsure"
    if not sure:
        return
    yield f"  invalid: {sheet['invalid']:,} ({sheet['rate']:.1%}, {sheet['low']:.1%} to {sheet['high']:.1%})"
    kappa = "undefined" if sheet["kappa"] is None else f"{sheet['kappa']:.2f}"
    yield f"  agreement with the audit: {sheet['agree']:,} of {sure:,}, Cohen's kappa {kappa}"
    if sheet["disagreements"]:
        yield f"  disagreements: {', '.join(sheet['disagreements'])}"
