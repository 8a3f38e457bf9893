"""Checks of one probe of ripples: its facts against both dumps, its answers, conditions and sentences."""

import calendar
from collections.abc import Iterator, Sequence

from qwikidata.claim import WikidataClaim

from factdrift.audit.dates import Day, packed
from factdrift.audit.lines import Entity
from factdrift.audit.of_updates import Dumps, Finding, outcomes, statement_of
from factdrift.audit.sentences import BLANK
from factdrift.audit.values import END, START, ended_by, entity_of, identity, plain, spans, surely_held, words
from factdrift.core.columns import Row

_KEPT = ("preserve", "specific", "history_old", "neighbor")
"""Criteria whose answers an edit must not change."""
_ONE_VALUE = {"compose_object": (-1,), "compose_subject": (0,), "specific": (0,)}
"""Criterion -> the places of the path at which the value must be the only one that holds at T_new."""
_BY_PROPERTY = ("inverse", "symmetric")
"""Kinds of conclusions that the lines of properties state."""
_SYMMETRIC = "Q21510862"


def check_probe(row: Row, dumps: Dumps) -> Iterator[Finding]:
    """The findings of each kind about one probe."""
    yield from outcomes("path", _path(row, dumps))
    yield from outcomes("only", _only(row, dumps))
    yield from outcomes("condition", _conditions(row, dumps))
    yield from outcomes("tenure", _tenure(row, dumps))
    yield from outcomes("probe", _probe(row, dumps))


def named_entities(row: Row) -> Iterator[tuple[str, frozenset[str] | None]]:
    """The entities whose lines the checks need, with the relations of each."""
    steps = [*row["path"], *(each["step"] for each in row["conditions"])]
    for step in steps:
        yield step["subject"], frozenset([step["relation"]])
        if step["object"]:
            yield step["object"], frozenset()
    for each in (*row["answers"], *row["stale"]):
        if each["id"]:
            yield each["id"], frozenset()
    if row["kind"] in _BY_PROPERTY:
        for name in (row["relation"], row["asked_relation"]):
            yield name, frozenset(["P1696", "P2302"])
    yield row["subject"], frozenset([row["relation"]])
    yield row["asked_subject"], frozenset([row["asked_relation"]] if row["asked_relation"] else [])


def _claim(step: Row, dumps: Dumps) -> tuple[WikidataClaim | None, str]:
    line = dumps.side(step["dump"]).get(step["subject"])
    claim = statement_of(line, step["statement"]) if line and step["statement"] else None
    where = f"{step['subject']} {step['relation']} in the {step['dump']} dump"
    if claim is None or claim.property_id != step["relation"]:
        return None, f"{where} has no statement {step['statement']}"
    if claim.rank == "deprecated":
        return claim, f"{step['statement']} is deprecated"
    if step["object"] != entity_of(claim.mainsnak):
        return claim, f"{step['statement']} states {entity_of(claim.mainsnak)}, not {step['object']}"
    return claim, ""


def _path(row: Row, dumps: Dumps) -> Iterator[str]:
    """Each step is a statement; the steps are those of the criterion and end at the answer."""
    path: Sequence[Row] = row["path"]
    yield from (reason for _, reason in (_claim(step, dumps) for step in path) if reason)
    answers = {each["id"] for each in row["answers"]}
    own = (row["subject"], row["relation"])
    asked = (row["asked_subject"], row["asked_relation"])
    criterion = row["criterion"]
    if row["update"] != "-".join(own):
        yield f"the update is called {row['update']}"
    if not _leads(criterion, path, own, asked):
        steps = " ".join(f"{step['subject']}-{step['relation']}" for step in path)
        yield f"the steps {steps} are not those of {criterion}"
    if criterion != "logical" and not {path[-1]["object"]} <= answers:
        yield f"the path ends at {path[-1]['object']}, the answers are {sorted(map(str, answers))}"
    if row["kind"] == "reverse" and (asked[0] != path[0]["object"] or answers != {own[0]}):
        yield f"{asked[0]} is not the new object, or the answer not the subject"
    if row["kind"] in _BY_PROPERTY:
        yield from _stated_inverse(row, dumps)


def _stated_inverse(row: Row, dumps: Dumps) -> Iterator[str]:
    """The dump states that the properties are inverse or symmetric, or has no line of either."""
    names = (row["relation"], row["asked_relation"])
    lines = [dumps.new.get(name) for name in dict.fromkeys(names)]
    if not any(lines):
        return
    stated = {(line.id, entity_of(claim.mainsnak)) for line in lines if line for claim in line.of("P1696")}
    if row["kind"] == "symmetric":
        kinds = {entity_of(claim.mainsnak) for line in lines if line for claim in line.of("P2302")}
        if names[0] != names[1] or (_SYMMETRIC not in kinds and names not in stated):
            yield f"the new dump does not state that {names[0]} is symmetric"
    elif stated.isdisjoint({names, names[::-1]}):
        yield f"the new dump does not state that {names[0]} and {names[1]} are inverse"


def _leads(criterion: str, path: Sequence[Row], own: tuple[str, str], asked: tuple[str, str]) -> bool:
    """Whether the steps of a path are those of its criterion; `own`: subject and relation of the update."""
    ends = [(step["subject"], step["relation"]) for step in path]
    match criterion:
        case "compose_object":
            return ends == [own, asked] and path[0]["object"] == asked[0]
        case "compose_subject":
            return ends[1:] == [own] and path[0]["object"] == own[0]
        case "specific" | "neighbor":
            return ends == [asked] and asked != own
        case "logical":
            return ends[0] == own
    return set(ends) == {own}


def _holding(line: Entity | None, relation: str, day: Day) -> list[WikidataClaim]:
    """The statements of best rank with a value that have begun by a day and not ended."""
    group = [claim for claim in (line.of(relation) if line else ()) if claim.rank != "deprecated"]
    best = [claim for claim in group if claim.rank == "preferred"] or group
    return [claim for claim in best if claim.mainsnak.snaktype == "value" and _holds(claim, day)]


def _holds(claim: WikidataClaim, day: Day) -> bool:
    starts = spans(claim, START)
    return not ended_by(claim, day) and (not starts or min(each.last for each in starts) <= day)


def _only(row: Row, dumps: Dumps) -> Iterator[str]:
    """Where one answer only can be right, no other value holds at T_new."""
    for place in _ONE_VALUE.get(row["criterion"], ()):
        step = row["path"][place]
        holding = _holding(dumps.new.get(step["subject"]), step["relation"], dumps.t_new)
        values = {identity(claim.mainsnak) for claim in holding}
        if len(values) != 1:
            yield f"{step['subject']} {step['relation']} has {len(values)} values at T_new"
    if row["criterion"] == "logical" and row["asked_relation"] and row["kind"] != "reverse":
        line = dumps.new.get(row["asked_subject"])
        stated = {entity_of(each.mainsnak) for each in _holding(line, row["asked_relation"], dumps.t_new)} - {
            None
        }
        if stated - {each["id"] for each in row["answers"]}:
            yield f"the new dump states {', '.join(sorted(map(str, stated)))}"


def _conditions(row: Row, dumps: Dumps) -> Iterator[str]:
    """Each condition is a fact that held at T_old, with the object of its answers."""
    wanted = {"compose_object": 1, "compose_subject": 1, "specific": 1, "preserve": 1, "neighbor": 1}
    if len(row["conditions"]) != wanted.get(row["criterion"], len(row["conditions"])):
        yield f"it has {len(row['conditions'])} conditions"
    if row["criterion"] in ("alias", "history_new") and row["conditions"]:
        yield "it has conditions"
    for each in row["conditions"]:
        step = each["step"]
        claim, reason = _claim(step, dumps)
        if reason or claim is None:
            yield reason
            continue
        if row["criterion"] not in ("history_old", "neighbor", "preserve"):
            line = dumps.old.get(step["subject"])
            if step["dump"] != "old" or claim not in _holding(line, step["relation"], dumps.t_old):
                yield f"{step['statement']} does not hold at T_old"
        if step["object"] and step["object"] not in {one["id"] for one in each["answers"]}:
            yield f"the answer to {each['prompt']!r} is not {step['object']}"


def _tenure(row: Row, dumps: Dumps) -> Iterator[str]:
    """A month lies in the tenure of its statement, and no other value may have held on a day of it."""
    if (row["date"] is None) != (row["criterion"] not in ("history_old", "history_new")):
        yield f"the date is {row['date']}"
    if row["date"] is None:
        return
    year, month = map(int, row["date"].split("-"))
    first = year * 10_000 + month * 100 + 1
    last = first - 1 + calendar.monthrange(year, month)[1]
    old, new = packed(dumps.t_old), packed(dumps.t_new)
    if (last >= old) if row["criterion"] == "history_old" else (first <= old or last > new):
        yield f"{row['date']} is on the other side of T_old, or after T_new"
    (step,) = row["path"]
    claim, _ = _claim(step, dumps)
    if claim is None:
        return
    starts, ends = spans(claim, START), spans(claim, END)
    if not starts or max(packed(each.last) for each in starts) > first:
        yield f"{step['statement']} does not say that it began by {row['date']}"
    if ends and min(packed(each.first) for each in ends) < last:
        yield f"{step['statement']} ended before the end of {row['date']}"
    for lines in (dumps.new, dumps.old):
        line = lines.get(row["subject"])
        for other in line.of(row["relation"]) if line else ():
            if other.rank == "deprecated" or identity(other.mainsnak) == identity(claim.mainsnak):
                continue
            if surely_held(other, first, last):
                yield f"{other.claim_id} held on a day of {row['date']}, too"


def _probe(row: Row, dumps: Dumps) -> Iterator[str]:
    """Answers are called as the dumps do; the prompt has a blank and names no answer."""
    if row["must_change"] == (row["criterion"] in _KEPT):
        yield f"must_change is {row['must_change']}"
    if not row["prompt"].endswith(BLANK) or row["prompt"].count(BLANK) != 1:
        yield f"{row['prompt']!r} does not end with a blank"
    for each in (*row["answers"], *row["stale"]):
        lines = [side[each["id"]] for side in (dumps.new, dumps.old) if each["id"] in side]
        labels = [plain(line.label) for line in lines if line.label]
        if labels and plain(each["label"]) != labels[0]:
            yield f"{each['id']}: label {each['label']!r} where the dumps have {labels[0]!r}"
        known = {plain(alias) for line in lines for alias in line.aliases}
        if lines and not {*map(plain, each["aliases"])} <= known:
            yield f"{each['id']}: aliases {each['aliases']}, in the dumps {sorted(known)}"
    said = words(row["prompt"].replace(BLANK, ""))
    for each in row["answers"]:
        for name in (each["label"], *each["aliases"]):
            if words(name).strip() and words(name) in said:
                yield f"the prompt {row['prompt']!r} names its answer {name!r}"
    if not row["must_change"]:
        return
    right = {each["id"] or each["label"] for each in row["answers"]}
    if right & {each["id"] or each["label"] for each in row["stale"]}:
        yield "the answer is right without the update, too"
