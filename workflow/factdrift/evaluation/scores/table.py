"""The scores of edits as tables: the WikiFactDiff paper's Tables 6 and 7, and those of a stream by interval.

Each is a `Report`: columns, notes, and values in a file for programs. What was written comes first.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from factdrift.core.files import write_csv, write_text
from factdrift.core.intervals import Interval
from factdrift.core.owned import claim
from factdrift.core.score_table import HIGHER, LOWER, Cell, Column, Line, mean, rules, share, shown, table
from factdrift.evaluation.ability.record import Ability
from factdrift.evaluation.methods.record import Skipped
from factdrift.evaluation.scores.costs import read_costs, skipped_among
from factdrift.evaluation.scores.groups import (
    GROUPINGS,
    Group,
    by_text,
    cost_lines,
    parted,
    read_groups,
    read_intervals,
    skipped_lines,
    state_line,
    unscored_lines,
)
from factdrift.evaluation.scores.written_lines import written_lines
from factdrift.models.alignment import NOT_FINITE
from factdrift.models.bundled.taught import recall_lines
from factdrift.verdict.judge import VERDICTS


class Score(NamedTuple):
    """A mean over edits: a column of SCORES, or of STREAM_SCORES for a kind of probe."""

    title: str
    column: str
    better: int = HIGHER
    fails: float | None = None
    probe: str = ""
    optional: bool = False

    def of(self, group: Group) -> Interval | None:
        """The mean over the edits of a group, with its interval."""
        return group.value(self.column, self.probe)

    def cell(self, group: Group) -> Cell:
        """That mean in a table."""
        return mean(self.of(group))


COLUMNS = {
    "efficacy_d": Score("Efficacy D", "efficacy_d", fails=0),
    "efficacy_s": Score("Efficacy S", "efficacy_s", fails=50),
    "generalization_d": Score("General. D", "generalization_d", fails=0),
    "generalization_s": Score("General. S", "generalization_s", fails=50),
    "bleedover_random": Score("Bleed. random", "bleedover_random", LOWER, 10),
    "bleedover_nearest": Score("Bleed. nearest", "bleedover_nearest", LOWER, 10),
    "bleedover_popular": Score("Bleed. popular", "bleedover_popular", LOWER, 10, optional=True),
    "fluency": Score("Fluency", "fluency"),
}
"""Columns of Table 6, in its order; popular neighbours are not in the paper."""

ACCURACIES = {
    "exact": Score("Exact", "exact"),
    "greedy": Score("Greedy", "greedy"),
    "generalization_exact": Score("Gen. exact", "generalization_exact"),
    "generalization_greedy": Score("Gen. greedy", "generalization_greedy"),
    "nearest_exact_before": Score("Nearest before", "nearest_exact_before", better=0),
    "nearest_exact": Score("Nearest after", "nearest_exact"),
    "fluency_full": Score("Fluency, full", "fluency_full"),
}

IN_STREAM = {
    "efficacy_d": Score("Efficacy D", "d", HIGHER, 0, "current"),
    "efficacy_s": Score("S", "s", HIGHER, 50, "current"),
    "efficacy_exact": Score("Exact", "exact", probe="current"),
    "generalization_d": Score("General. D", "generalization_d", HIGHER, 0, "current"),
    "generalization_s": Score("S", "generalization_s", HIGHER, 50, "current"),
    "retention_s": Score("Retention S", "s", HIGHER, 50, "retention"),
    "retention_exact": Score("Exact", "exact", probe="retention"),
    "staleness_s": Score("Stale S", "s", LOWER, 50, "staleness"),
    "staleness_exact": Score("Exact", "exact", LOWER, probe="staleness"),
    "bleedover_random": Score("Bleed. random", "bleedover_random", LOWER, 10, "neighbors"),
    "bleedover_nearest": Score("nearest", "bleedover_nearest", LOWER, 10, "neighbors"),
    "nearest_exact": Score("Nearest", "nearest_exact", probe="neighbors"),
}
"""Columns of a stream: of what is asked after an interval."""

PROBES = ("current", "retention", "staleness", "neighbors")
"""The kinds of probes of a stream, in the order of their numbers in the column `n`."""


def _means(scores: Mapping[str, Score]) -> Iterator[Column]:
    for score in scores.values():
        yield Column(score.title, score.cell, score.better, score.fails, score.optional)


def _number(title: str, value: Callable[[Group], float | None], form: str = ",", better: int = 0) -> Column:
    """The column of a number in a format; `-` for None."""

    def cell(group: Group) -> Cell:
        number = value(group)
        return Cell() if number is None else Cell(f"{number:{form}}", value=number)

    return Column(title, cell, better)


_COMPARED = ("kept", "lost", "gained")
"""Counts of answers that the unedited model gave, too."""


def _share(kind: str, count: str, title: str = "", better: int = 0, **more: Any) -> Column:
    """The column of a share of what was written as answers to a kind of question; `more`: of a Column."""
    cell = share(count, "compared" if count in _COMPARED else "answers", ends=bool(more))
    return Column(title, lambda group: cell(group.answers.get(kind, {})), better, **more)


def _asked(group: Group) -> Cell:
    kinds = Counter(row["probe"] for row in group.lasting)
    return Cell("/".join(f"{kinds[kind]:,}" for kind in PROBES))


PAPER = (
    _number("n", lambda group: len(group.lasting)),
    *_means(COLUMNS),
    _number("Seconds", lambda group: group.seconds, ".3g", LOWER),
)
ACCURACY = (
    *_means(ACCURACIES),
    _number("Failed", lambda group: group.failed),
    _number("Not finite", lambda group: group.not_finite),
)
_OF_PARTS = {name: score for name, score in COLUMNS.items() if name != "fluency"}
BY_PART = (
    _number("n", lambda group: len(group.lasting)),
    _share("own wording", "correct", "Right", HIGHER, fails=50, optional=True),
    _share("own wording", "stale", "Stale", LOWER, optional=True),
    _share("other wordings", "correct", "Other wordings: right", HIGHER, optional=True),
    _share("nearest", "kept", "Nearest: kept", HIGHER, optional=True),
    *_means(_OF_PARTS),
)
"""Of a part of the edits: first what was written, where there is any."""
AFTER = (
    Column("n", _asked),
    *_means(IN_STREAM),
    _number("Perplexity", lambda group: group.interval.get("perplexity"), ".4g", LOWER),
    _number("Kept", lambda group: group.interval.get("state_bytes")),
    _number("Failed", lambda group: group.interval.get("failed") or 0),
    _number("Not finite", lambda group: group.not_finite),
)
WRITTEN_AFTER = (
    _share("new, own wording", "correct", "New: right", HIGHER),
    _share("new, own wording", "stale", "Stale", LOWER),
    _share("new, other wordings", "correct", "Other wordings: right", HIGHER),
    _share("earlier, own wording", "correct", "Earlier: right", HIGHER),
    _share("superseded", "stale", "Superseded: stale", LOWER),
    _share("nearest", "kept", "Nearest: kept", HIGHER),
    _share("nearest", "lost", "Lost", LOWER),
    _share("random", "kept", "Random: kept", HIGHER),
)
"""What was written after an interval."""


def _bounds(group: Group, scores: Mapping[str, Score], none: str = "") -> Iterator[tuple[str, Any]]:
    """Column -> value of means: the mean, half the width of its interval, and n, `none` without one."""
    for name, score in scores.items():
        value = score.of(group)
        cells = (*value.cells(), value.n) if value else ("", "", none)
        yield from zip((name, f"{name}_ci95", f"{name}_n"), cells, strict=True)


def _edit_values(group: Group) -> dict[str, Any]:
    general = dict(group.abilities)
    perplexity = general.pop("Perplexity", None)
    number, half = perplexity.cells() if perplexity else ("", "")
    tasks = json.dumps({name: value.mean for name, value in general.items()}) if general else ""
    shares = {
        **{f"written_{name}": ("own wording", name) for name in VERDICTS},
        **{f"reworded_{name}": ("other wordings", name) for name in ("correct", "stale")},
        **{f"{kind}_{name}": (kind, name) for kind in ("nearest", "random") for name in _COMPARED},
    }
    return {
        **{"model": group.model, "kind": group.part, "method": group.method, "edits": len(group.rows)},
        **{"failed": group.failed, "not_finite": group.not_finite},
        **{title: _share(*about).cell(group).value for title, about in shares.items()},
        **dict(_bounds(group, COLUMNS | ACCURACIES, "0")),
        **{"seconds_per_edit": group.seconds, "peak_mb": str(group.cost.get("peak_mb", ""))},
        **{"perplexity": number, "perplexity_ci95": half},
        **{"tasks": tasks, "source": group.cost.get("source"), "skipped": ""},
    }


def _stream_values(group: Group) -> dict[str, Any]:
    about = {**group.interval, NOT_FINITE: group.not_finite, "seconds_per_edit": group.seconds}
    first = ("interval", "old_date", "new_date", "so_far")
    last = ("perplexity", "tasks", "failed", NOT_FINITE, "entries", "state_bytes", "seconds_per_edit")
    return {
        **{"model": group.model, "method": group.method},
        **{name: about.get(name) for name in first},
        **dict(_bounds(group, IN_STREAM)),
        **{name: about.get(name) for name in last},
    }


class Report(NamedTuple):
    """Tables of scores as text, and the numbers behind them as comma-separated values."""

    name: str
    """Of the files, without their endings."""
    title: str
    note: Sequence[str]
    tables: Sequence[Sequence[Column]]
    values: Callable[[Group], dict[str, Any]]
    """Column of the comma-separated values -> value of a group."""
    in_stream: bool = False
    """Whether the parts of a model are the intervals of a stream; else they are kinds of edits."""
    by_part: bool = False
    """Whether it has the parts of GROUPINGS instead of all edits."""


_EDITS = Report(
    "table6",
    "All edits (Table 6 of the WikiFactDiff paper)",
    (
        "The paper's metrics: means with 95 % confidence intervals (1.96 sd / sqrt(n)), times 100, except",
        "fluency and seconds. n: edits that did not fail. Not finite: of these, those with such output.",
    ),
    (PAPER, ACCURACY),
    _edit_values,
)
EDITS = (
    _EDITS,
    Report(
        "table7",
        "Edits by what is known of them; first those of facts that the model knew, and of others (Table 7)",
        ("What was written, then the means, as of all edits; n: edits that did not fail.",),
        (BY_PART,),
        lambda group: dict(zip(("grouping", "part"), group.within, strict=True)) | _edit_values(group),
        by_part=True,
    ),
)
STREAM = Report(
    "lifelong",
    "Edits of a stream, interval by interval, each on top of all earlier ones",
    (
        "Means with 95 % confidence intervals (1.96 sd / sqrt(n)), times 100; Kept: bytes beside the model.",
        "n: facts asked: new/earlier/superseded/with neighbours; intervals are over the facts of one model.",
        "Not finite: of these, those for which the output of the model is not finite.",
    ),
    (WRITTEN_AFTER, AFTER),
    _stream_values,
    in_stream=True,
)

_KINDS = {
    "replace": "replacements",
    "add": "additions: D and S compare the new object's probability with that before the edit",
    "archive": "archives: D and S compare the obsolete object's probability with that before the edit",
}
CHAT = "; prompts are turns of a user in the model's chat template"


def lines(report: Report, groups: Sequence[Group], skipped: Sequence[Skipped] = ()) -> Iterator[str]:
    """A report as text: a block for each model and kind of edits, and why methods could not edit a model."""
    yield report.title
    for block in _parts(groups, report.in_stream):
        model = block[0].model
        tables = [shown(columns, block) for columns in report.tables]
        yield from ("", model if report.in_stream else _heading(block))
        if report.by_part:
            yield from _sections(report, block)
            continue
        methods = {group.method: group for group in block}
        texts = [row for group in block for row in group.written]
        yield from written_lines(texts, {name: group.title for name, group in methods.items()})
        yield from report.note
        for part in _parts(block):
            if report.in_stream:
                yield from ("", "{new_date}: {so_far:,} edits so far".format(**part[0].interval))
            for number, columns in enumerate(tables):
                yield from [""] * bool(number)
                yield from table("", columns, _lines(part))
        yield from rules(*tables)
        if not report.in_stream:
            yield from _fewer(block, COLUMNS | ACCURACIES)
            yield from _clusters(block)
            yield from ability_lines(block)
        yield from skipped_lines(skipped, model)
        yield from cost_lines(list(methods.values()))
    yield from unscored_lines(skipped, {group.model for group in groups})


def _lines(groups: Sequence[Group]) -> list[Line]:
    return [state_line(group.method, group, group.title) for group in groups]


def _parts(groups: Sequence[Group], whole: bool = False) -> Iterator[list[Group]]:
    """The groups of each model and part, or of each `whole` model, in their order."""
    parts: dict[tuple[Any, ...], list[Group]] = {}
    for group in groups:
        parts.setdefault((group.model, None if whole else group.part), []).append(group)
    yield from parts.values()


def _heading(groups: Sequence[Group]) -> str:
    edits = max(len(group.rows) for group in groups)
    asked = any(row["template"] == "chat" for group in groups for row in group.rows)
    return f"{groups[0].model}, {edits:,} {_KINDS[str(groups[0].part)]}{CHAT if asked else ''}"


def _sections(report: Report, block: Sequence[Group]) -> Iterator[str]:
    """The parts of all groupings of the edits of a model and kind, with what is left out of them."""
    yield from report.note
    columns = shown(BY_PART, block)
    for name, grouping in GROUPINGS.items():
        parts, left_out = parted(block, name)
        yield from ("", f"By {grouping.title}")
        for part in parts:
            yield from ("", *table(part[0].within[1], columns, _lines(part)))
            yield from _fewer(part, _OF_PARTS)
        yield from left_out
    yield from rules(columns)


def _fewer(groups: Sequence[Group], scores: Mapping[str, Score]) -> Iterator[str]:
    """Lines that name the columns whose means are over fewer edits than did not fail, with their number."""

    def fewer(group: Group) -> str:
        titles: dict[int, list[str]] = {}
        for score in scores.values():
            value = score.of(group)
            if value is not None and value.n < len(group.lasting):
                titles.setdefault(value.n, []).append(score.title)
        return "; ".join(f"{n:,} edits in {', '.join(named)}" for n, named in titles.items())

    return by_text((fewer(group), group.title) for group in groups)


def _clusters(groups: Sequence[Group]) -> Iterator[str]:
    """A line for each method with several edits in one model: what its intervals are over."""
    for group in groups:
        models = len({row.get("state") for row in group.lasting})
        if group.method != "none" and models < len(group.lasting):
            yield f"{group.title}: " + (
                "all edits are in one model, and intervals are over its edits only"
                if models == 1
                else f"intervals are by edited model, of which there are {models:,}"
            )


def ability_lines(groups: Sequence[Group]) -> Iterator[str]:
    """A table of the general ability of edited models, with the text; nothing if none was measured."""
    names = list(dict.fromkeys(name for group in groups for name in group.abilities))
    if not names:
        return

    def ability(name: str) -> Column:
        better = LOWER if name == "Perplexity" else 0
        return Column(name, lambda group: mean(group.abilities.get(name), ".4g", ".2g"), better)

    models = _number("Models", lambda group: len(group.states) if group.abilities else None)
    columns = [*map(ability, names), models]
    yield from ("", *table("", columns, _lines(groups)))
    for text in dict.fromkeys(row["text"] for group in groups for row in group.states if row["text"]):
        yield f"Perplexity on {text}; geometric means over edited models"


def write_report(
    report: Report,
    groups: Sequence[Group],
    folder: Path,
    skipped: Sequence[Skipped] = (),
    below: Sequence[str] = (),
) -> str:
    """Writes a report to a folder as text, with the lines `below` it, and as CSV; returns the text."""
    text = "\n".join([*lines(report, groups, skipped), *below])
    write_text(f"{text}\n", folder / f"{report.name}.txt")
    if report.by_part:
        each_part = (parted(block, name)[0] for block in _parts(groups) for name in GROUPINGS)
        groups = [group for parts in each_part for part in parts for group in part]
    header = list(report.values(Group("", "", "", [], {})))
    rows = [[_printed(value) for value in report.values(group).values()] for group in groups]
    if not report.in_stream:
        for method in skipped:
            named = {**dict.fromkeys(("edits", "failed", "not_finite"), "0"), **method._asdict()}
            rows.append([named.get(name, "") for name in header])
    write_csv([header, *rows], folder / f"{report.name}.csv")
    return text


def _printed(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def write_tables(
    scores: Path,
    written: Path,
    costs: Path,
    folder: Path,
    bundled: Sequence[Path] = (),
    stream: tuple[Path, Sequence[Ability]] | None = None,
) -> tuple[str, list[Group]]:
    """Writes the reports of edits, or of a stream, to a folder; their text, and the groups of the last.

    The files are those of `edit scores`. `bundled`: folders of bundled models, whose recall is below the
    tables. `stream`: its intervals, and what models are able to without any edit.
    """
    reports = (STREAM,) if stream else EDITS
    claim(folder, (f"{report.name}.{form}" for report in reports for form in ("txt", "csv")))
    skipped = skipped_among(read_costs(costs).values())
    measured = [ability for ability in (stream[1] if stream else ()) if ability.text]
    texts = (f"Perplexity on {ability.text}, {ability.tokens:,} tokens" for ability in measured)
    below = [*dict.fromkeys(texts), *recall_lines(bundled)]
    groups = read_groups(scores, written, costs, "interval" if stream else "kind")
    if stream:
        groups = read_intervals(groups, *stream)
    printed = [write_report(report, groups, folder, skipped, below) for report in reports]
    return "\n\n".join(printed), groups
