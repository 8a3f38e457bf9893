"""All probes of small drawn worlds against a plain second reading of what the two dumps state."""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import audit_dumps
from support.examples import examples
from support.ripples_drawn import MONTHS, PAIRS, Drawn, Row
from support.ripples_oracle import Oracle, popularity, shown
from support.worlds import UNKNOWN

from factdrift.audit.of_ripples import check_probe


@pytest.mark.parametrize("seed", range(examples(24)))
def test_stage_and_oracle_agree(seed: int, tmp_path: Path) -> None:
    drawn = Drawn(seed)
    wanted = Oracle(drawn).probes()
    rows = drawn.probes(tmp_path)
    made = [shown(row) for row in rows]
    for due, probe, row in zip(wanted, made, rows, strict=False):
        assert row["popularity"] == popularity(drawn, due)
        month = row["date"] and f"In {MONTHS[int(row['date'][5:])]} {row['date'][:4]}, "
        assert row["prompt"].startswith(month or "")
        assert bool(month) == row["criterion"].startswith("history")
        assert probe == due
    assert len(made) == len(wanted)
    audited(drawn, rows, tmp_path)


def audited(drawn: Drawn, rows: list[Row], folder: Path) -> None:
    """The audit finds nothing in the probes, and each fault that is planted into one of every kind."""
    dumps = dumps_of(drawn, folder)
    updates = {f"{row['subject']['id']}-{row['relation']['id']}": row for row in drawn.rows}
    # No dataset has an object whose statement is dropped, nor one that is new and was stated before.
    odd = {"-".join(name.split("-")[0].split("$")) for _, name in drawn.dropped}
    odd |= {row["update"] for row in rows for step in row["path"][:1]
            if (row["criterion"], step["dump"]) == ("history_new", "old")}  # fmt: skip
    rows = [row for row in rows if row["update"] not in odd]

    def failed(row: Row) -> list[str]:
        findings = check_probe(row, updates[row["update"]], dumps)
        # The sentences of these templates are not the bundled ones.
        return [reason for kind, outcome, reason in findings if outcome == "failed" and kind != "prompt"]

    assert [reason for row in rows for reason in failed(row)] == []
    unnamed = {f"Q{item}" for item in drawn.unnamed}
    for row in {
        (row["criterion"], row["kind"], len(row["stale"])): row
        for row in rows
        if unnamed.isdisjoint(answer["id"] for answer in row["answers"])
    }.values():
        assert [name for name, plant in plants(row) if not failed(plant)] == []


def dumps_of(drawn: Drawn, folder: Path) -> Any:
    """The drawn dumps as the audit reads them, line by line."""

    def moment(text: str) -> Any:
        parts = [*text.split("-"), "00", "00"][:3]
        return "somevalue" if text == UNKNOWN else audit_dumps.time("-".join(parts), 9 + text.count("-"))

    sides = []
    for side, facts in (("old", drawn.old), ("new", drawn.new)):
        stated = defaultdict(list)
        for fact in facts:
            value = audit_dumps.item(f"Q{fact.o}") if isinstance(fact.o, int) else moment(fact.o.text)
            dated = {key: moment(text) for key, text in (("P580", fact.start), ("P582", fact.end)) if text}
            stated[fact.s].append(audit_dumps.statement(fact.id, f"P{fact.p}", value, fact.rank, **dated))
        lines = []
        for item, label in drawn.labels.items():
            called = drawn.former.get(item, label) if side == "old" else label
            line = audit_dumps.entity(f"Q{item}", called, *stated[item])
            line["aliases"] = {"en": [{"language": "en", "value": name} for name in drawn.aliases[item]]}
            lines.append(line | ({"labels": {}, "aliases": {}} if item in drawn.absent[side] else {}))
        sides.append(lines)
    for first, second in sorted(PAIRS):
        # One of two inverse properties names the other.
        other = {"type": "wikibase-entityid", "value": {"entity-type": "property", "id": f"P{second}"}}
        said = [audit_dumps.statement("P1", "P2302", audit_dumps.item("Q21510862"))] if first == second else (
            [audit_dumps.statement("P1", "P1696", other)] if first < second else [])  # fmt: skip
        sides[1].append(audit_dumps.entity(f"P{first}", "relation", *said))
    supplied = {f"Q{item}": drawn.labels[item] for item in drawn.supplied}
    read = audit_dumps.dumps(folder, *sides, supplied=supplied)
    return read._replace(t_old=tuple(map(int, drawn.t_old.split("-"))))


def plants(row: Row) -> Iterator[tuple[str, Row]]:
    """What is wrong, and a probe of which it is."""
    nobody: Row = {"id": "Q77", "label": "Nobody", "aliases": ["Nobody"]}
    wrong = {"statement": "Q1$x", "object": "Q77", "subject": "Q77", "relation": "P77"}
    first, path, conditions = row["answers"][0], row["path"], row["conditions"]
    for name, value in nobody.items():
        yield f"answer's {name}", row | {"answers": [first | {name: value}, *row["answers"][1:]]}
    yield "another answer", row | {"answers": [*row["answers"], nobody]}
    for place, step in enumerate(path):
        for name, value in (*wrong.items(), ("dump", "old" if step["dump"] == "new" else "new")):
            other = [*path[:place], step | {name: value}, *path[place + 1 :]]
            yield f"{name} of a step", row | {"path": other}
    if row["criterion"] != "preserve":
        yield "another step", row | {"path": [*path, path[0]]}
    for name in ("asked_subject", "asked_relation"):
        yield name, row | {name: f"{row[name][0]}77"}
    yield "another stale", row | {"stale": [*row["stale"], nobody]}
    if row["stale"] and row["kind"] != "reverse":
        yield "fewer stale", row | {"stale": row["stale"][1:]}
    yield "must_change", row | {"must_change": not row["must_change"]}
    for date in ("1990-01", "2024-01", None):
        if date or row["date"]:
            yield f"the date {date}", row | {"date": date}
    for step in [conditions[0]["step"]] if conditions else []:
        for name, value in (*wrong.items(), ("dump", "new")):
            other = conditions[0] | {"step": step | {name: value}}
            yield f"{name} of a condition", row | {"conditions": [other]}
        for given in ([], [nobody], [conditions[0]["answers"][0] | {"label": "Nobody"}]):
            yield f"answers {given}", row | {"conditions": [conditions[0] | {"answers": given}]}
    more: Row = {"prompt": row["prompt"], "answers": row["answers"], "step": path[0] | {"dump": "old"}}
    yield "a condition", row | {"conditions": [] if conditions else [more]}
    yield "conditions twice", row | {"conditions": 2 * (conditions or [more])}
    yield "probe_id", row | {"probe_id": "0"}
    yield "scenario", row | {"scenario": "none"}
    yield "named answer", row | {"prompt": f"{first['label']} {row['prompt']}"}
