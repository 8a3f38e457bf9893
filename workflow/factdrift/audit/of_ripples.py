"""Checks of one probe of ripples: its facts against both dumps, its answers, conditions and sentences."""

import calendar
from collections.abc import Iterator, Mapping, Sequence

from qwikidata.claim import WikidataClaim

from factdrift.audit import probes
from factdrift.audit.dates import packed
from factdrift.audit.kinds import FAILED
from factdrift.audit.of_tables import differing
from factdrift.audit.of_updates import Dumps, Finding, other_label, outcomes, statement_of
from factdrift.audit.phrases import contains
from factdrift.audit.ripples import row_id
from factdrift.audit.sentences import BLANK, misread
from factdrift.audit.values import END, START, entity_of, identity, plain, raw_of, spans, surely_held
from factdrift.core.columns import Row

_UNCHANGED = {"compose_object": 1, "compose_subject": 0, "specific": 0, "neighbor": 0}
"""Criterion -> the position of the path whose value must be the only one that holds at both dates."""
_BY_PROPERTY = ("inverse", "symmetric")
"""Kinds of conclusions that the lines of properties state."""
_SYMMETRIC = "Q21510862"


def check_probe(row: Row, updated: Row | None, dumps: Dumps) -> Iterator[Finding]:
    """The findings of each kind about one probe; `updated`: the update in the dataset, if it has one."""
    if updated is None or not row["path"]:
        yield "path", FAILED, "it has no path" if updated else f"the dataset has no update {row['update']}"
        return
    yield from outcomes("path", _path(row, updated, dumps))
    yield from outcomes("only", _only(row, dumps))
    yield from outcomes("condition", _conditions(row, dumps))
    yield from outcomes("tenure", _tenure(row, dumps))
    yield from outcomes("probe", _probe(row, updated, dumps))
    yield from outcomes("prompt", probes.misworded(row, updated, dumps))


def whole_lines(row: Row, updated: Row | None) -> Iterator[str]:
    """The items of which the checks need all statements, and the labels of what they state."""
    yield row["subject"]
    yield row["asked_subject"]
    objects = updated["objects"] if updated else ()
    yield from (object_["id"] for object_ in objects if (object_["id"] or "").startswith("Q"))


def named_entities(row: Row) -> Iterator[tuple[str, frozenset[str] | None]]:
    """The entities whose lines the checks need beside those, with the relations of each."""
    steps = [*row["path"], *(condition["step"] for condition in row["conditions"])]
    for step in steps:
        yield step["subject"], frozenset([step["relation"]])
        if step["object"]:
            yield step["object"], frozenset()
    for answer in (*row["answers"], *row["stale"]):
        if answer["id"]:
            yield answer["id"], frozenset([row["relation"]])
    for name in (row["relation"], row["asked_relation"]):
        yield name, frozenset(["P1696", "P2302"])


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


def _path(row: Row, updated: Row, dumps: Dumps) -> Iterator[str]:
    """Each step is a statement; the steps are those of the criterion and end at the answer."""
    path: Sequence[Row] = row["path"]
    yield from (reason for _, reason in (_claim(step, dumps) for step in path) if reason)
    answers = {answer["id"] for answer in row["answers"]}
    own = (row["subject"], row["relation"])
    asked = (row["asked_subject"], row["asked_relation"])
    criterion = row["criterion"]
    yield from differing(row, {"update": "-".join(own)}, "subject and relation")
    if not _leads(criterion, path, own, asked):
        steps = " ".join(f"{step['subject']}-{step['relation']}" for step in path)
        yield f"the steps {steps} are not those by which {criterion} asks for {'-'.join(asked)}"
        return
    for step in path:
        if step["dump"] != _dump_of(step, criterion, dumps):
            yield f"{step['statement']} is of the {step['dump']} dump"
    new = probes.only_object(updated, "new")
    if criterion not in probes.KEPT:
        (step,) = [step for step in path if (step["subject"], step["relation"]) == own][:1]
        if new is None or step["object"] != new["id"] or step["statement"] not in _twins(step, new, dumps):
            yield f"{step['statement']} is not what the update states"
    ends = {path[-1]["object"]}
    if criterion == "preserve":
        ends = {step["object"] for step in path}
        yield from _missing(row, updated, dumps)
    elif criterion == "logical":
        ends = probes.concluded(row, path) if row["kind"] == "rule" else {own[0]}
    if answers != ends:
        yield f"the path leads to {sorted(map(str, ends))}, the answers are {sorted(map(str, answers))}"
    if row["kind"] == "reverse" and asked != (path[0]["object"], own[1]):
        yield f"{asked} is not the new object and the relation"
    if row["kind"] in _BY_PROPERTY:
        if asked[0] != path[0]["object"]:
            yield f"{asked[0]} is not the new object"
        yield from _stated_inverse(row, dumps)
    if criterion == "neighbor":
        part = {"nearest": "neighborhood", "random": "random_neighborhood"}[row["kind"]]
        if asked not in {(fact["subject"]["id"], fact["relation"]["id"]) for fact in updated[part]}:
            yield f"{' '.join(asked)} is no {row['kind']} fact of the update"


def _dump_of(step: Row, criterion: str, dumps: Dumps) -> str:
    """The dump that a step of a path is of: the new one; of months the old one if only that has it."""
    line = dumps.new.get(step["subject"])
    claim = statement_of(line, step["statement"]) if line and step["statement"] else None
    is_stated = claim is not None and claim.rank != "deprecated"
    return "new" if is_stated or not criterion.startswith("history") else "old"


def _twins(step: Row, new: Row, dumps: Dumps) -> set[str]:
    """The statements of the new dump with the value of the new object."""
    line = dumps.new.get(step["subject"])
    claim = statement_of(line, new["new_statement"]) if line and new["new_statement"] else None
    if line is None or claim is None:
        return set()
    same = [twin for twin in line.of(step["relation"]) if identity(twin.mainsnak) == identity(claim.mainsnak)]
    return {spelling for twin in same for spelling in (twin.claim_id, twin.claim_id.upper())}


def _missing(row: Row, updated: Row, dumps: Dumps) -> Iterator[str]:
    """Of what must be preserved: each answer holds at T_new and is not new, and no static one is left out."""
    holding = probes.items_on(dumps.new.get(row["subject"]), row["relation"], dumps.t_new)
    decided = {
        decision: {object_["id"] for object_ in updated["objects"] if object_["decision"] == decision}
        for decision in ("new", "static")
    }
    answers = {answer["id"] for answer in row["answers"]}
    if wrong := answers - holding | answers & decided["new"]:
        yield f"{', '.join(sorted(map(str, wrong)))} does not hold at T_new beside what is new"
    if absent := (decided["static"] - {None}) & holding - answers:
        yield f"{', '.join(sorted(absent))} holds at T_new, too"


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
            return ends[1:] == [own] == [asked] and path[0]["object"] == own[0]
        case "specific" | "neighbor":
            return ends == [asked] and asked != own
        case "logical":
            return ends[0] == own
        case "preserve":
            return {*ends, asked} == {own}
    return ends == [own] == [asked]


def _only(row: Row, dumps: Dumps) -> Iterator[str]:
    """Where one answer only can be right, it is the only one at both dates; no other value is concluded."""
    if row["criterion"] in _UNCHANGED:
        step = row["path"][_UNCHANGED[row["criterion"]] if len(row["path"]) > 1 else 0]
        claim, _ = _claim(step, dumps)
        for side, day in ((dumps.new, dumps.t_new), (dumps.old, dumps.t_old)):
            holding = probes.statements_on(side.get(step["subject"]), step["relation"], day)
            values = {identity(other.mainsnak) for other in holding}
            if claim is None or values != {identity(claim.mainsnak)}:
                yield f"{step['subject']} {step['relation']} has {len(values)} values on {packed(day)}"
    if row["criterion"] == "logical" and row["asked_relation"] and row["kind"] != "reverse":
        stated = probes.items_on(dumps.new.get(row["asked_subject"]), row["asked_relation"], dumps.t_new)
        if stated - {answer["id"] for answer in row["answers"]}:
            yield f"the new dump states {', '.join(sorted(stated))}"


def _conditions(row: Row, dumps: Dumps) -> Iterator[str]:
    """The conditions are those of the criterion: facts that held at T_old, with their objects as answers."""
    path, criterion = row["path"], row["criterion"]
    due = {"alias": [], "history_new": [], "logical": path[1:], "compose_object": path[1:]}.get(
        criterion, path[:1]
    )
    facts, wanted = [_fact(condition["step"]) for condition in row["conditions"]], [*map(_fact, due)]
    if criterion == "preserve":
        wanted = [fact for fact in facts if fact in map(_fact, path)][:1] or [_fact(path[0])]
    if facts != wanted:
        yield f"the conditions are {facts}, by the path {wanted}"
    for condition in row["conditions"]:
        step = condition["step"]
        claim, reason = _claim(step, dumps)
        if reason or claim is None:
            yield reason
            continue
        holding = probes.statements_on(dumps.old.get(step["subject"]), step["relation"], dumps.t_old)
        if claim not in holding:
            yield f"{step['statement']} does not hold at T_old"
        answers = [step["object"]]
        if criterion == "preserve":
            stated = {entity_of(other.mainsnak) for other in holding}
            answers = [answer["id"] for answer in row["answers"] if answer["id"] in stated]
        if sorted(map(str, answers)) != sorted(str(answer["id"]) for answer in condition["answers"]):
            yield f"the answers to {condition['prompt']!r} are not {answers}"
        if criterion == "history_old" and step["statement"] != path[0]["statement"]:
            yield f"{step['statement']} is not the statement of the month"
        yield from _called(condition["answers"], claim, dumps)


def _fact(step: Row) -> tuple[str, ...]:
    return tuple(step[name] for name in ("subject", "relation", "object"))


def _tenure(row: Row, dumps: Dumps) -> Iterator[str]:
    """A month lies in the tenure of its statement, and no other value may have held on a day of it."""
    if (row["date"] is None) != (row["criterion"] not in ("history_old", "history_new")):
        yield f"the date is {row['date']}"
        return
    if row["date"] is None:
        return
    year, month = map(int, row["date"].split("-"))
    first = year * 10_000 + month * 100 + 1
    last = first - 1 + calendar.monthrange(year, month)[1]
    old, new = packed(dumps.t_old), packed(dumps.t_new)
    if (last >= old) if row["criterion"] == "history_old" else (first <= old or last > new):
        yield f"{row['date']} is on the other side of T_old, or after T_new"
    step = row["path"][0]
    claim, _ = _claim(step, dumps)
    if claim is None:
        return
    starts, ends = spans(claim, START), spans(claim, END)
    if not starts or max(packed(start.last) for start in starts) > first:
        yield f"{step['statement']} does not say that it began by {row['date']}"
    if ends and min(packed(end.first) for end in ends) < last:
        yield f"{step['statement']} ended before the end of {row['date']}"
    # What the new dump says of a statement counts, not what the old one said.
    stated: dict[str, WikidataClaim] = {}
    for lines in (dumps.old, dumps.new):
        line = lines.get(row["subject"])
        claims = line.of(row["relation"]) if line else ()
        stated |= {other.claim_id.upper(): other for other in claims if other.rank != "deprecated"}
    for other in stated.values():
        if identity(other.mainsnak) != identity(claim.mainsnak) and surely_held(other, first, last):
            yield f"{other.claim_id} held on a day of {row['date']}, too"


def _probe(row: Row, updated: Row, dumps: Dumps) -> Iterator[str]:
    """Answers are called as the dumps do and none is missing; the prompt has a blank and names no answer."""
    own = row_id(row["update"], row["criterion"], row["kind"] or "", row["prompt"])
    due = {"probe_id": own, "scenario": updated["scenario"]}
    yield from differing(row, due, "update and the prompt")
    if not row["prompt"].endswith(BLANK) or row["prompt"].count(BLANK) != 1:
        yield f"{row['prompt']!r} does not end with a blank"
    claim, _ = _claim(row["path"][-1], dumps)
    yield from _called(row["answers"], claim, dumps)
    yield from _called([answer for answer in row["stale"] if answer["id"]], None, dumps)
    prompt = row["prompt"].replace(BLANK, "")
    for answer in row["answers"]:
        for name in (answer["label"], *answer["aliases"]):
            if contains(prompt, name):
                yield f"the prompt {row['prompt']!r} names its answer {name!r}"
    outdated, was_other = probes.right_before(row, updated, dumps)
    right, stale = (
        {answer["id"] or plain(answer["label"]) for answer in row[name]} for name in ("answers", "stale")
    )
    if outdated is not None and stale != outdated:
        yield f"stale are {sorted(stale)}, by the old dump {sorted(outdated)}"
    changes = row["criterion"] not in probes.KEPT
    yield from differing(row, {"must_change": None if changes and not was_other else changes}, "old dump")
    if changes and right & stale:
        yield "the answer is right without the update, too"


def _called(answers: Sequence[Row], claim: WikidataClaim | None, dumps: Dumps) -> Iterator[str]:
    """What is wrong with the names of answers; `claim`: the statement of one that is no item."""
    for answer in answers:
        if answer["id"]:
            label, aliases = dumps.name_of(answer["id"])
            yield from other_label(answer["id"], answer["label"], label)
            if label and {*map(plain, answer["aliases"])} != aliases:
                yield f"{answer['id']}: aliases {answer['aliases']}, in the dumps {sorted(aliases)}"
        elif answer["aliases"]:
            yield f"{answer['label']!r} is no item and has aliases"
        elif claim is not None and (
            reason := misread(*_literal(answer, claim), dumps.variant == "reference", dumps.new)
        ):
            yield reason


def _literal(answer: Row, claim: WikidataClaim) -> tuple[Row, Mapping[str, object] | None]:
    """A literal answer as a value of the dataset, and the value of its statement."""
    main = claim.mainsnak
    value = main.datavalue.value if main.snaktype == "value" else None
    kind = main.value_datatype if main.value_datatype in ("quantity", "time") else "string"
    literal = {"label": answer["label"], "raw": raw_of(main), "datatype": kind, "short": None}
    return literal, value if isinstance(value, dict) else None
