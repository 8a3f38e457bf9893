"""What both dumps say of the facts of a probe, once more: what holds, what follows, what was right."""

from collections.abc import Iterator, Mapping, Sequence

from qwikidata.claim import WikidataClaim

from factdrift.audit.dates import Day
from factdrift.audit.lines import Entity
from factdrift.audit.of_updates import Dumps
from factdrift.audit.sentences import written_date
from factdrift.audit.values import START, ended_by, entity_of, plain, spans
from factdrift.core.columns import Row
from factdrift.core.files import read_tsv
from factdrift.core.paths import RESOURCES

KEPT = ("preserve", "specific", "history_old", "neighbor")
"""Criteria whose answers an edit must not change."""
_RULES = list(read_tsv(RESOURCES / "ripples" / "rules.tsv"))


def only_object(updated: Row, decision: str) -> Row | None:
    values: list[Row] = [object_ for object_ in updated["objects"] if object_["decision"] == decision]
    return values[0] if len(values) == 1 else None


def statements_on(line: Entity | None, relation: str, day: Day) -> list[WikidataClaim]:
    """The statements of best rank with a value that have begun by a day and not ended."""
    group = [claim for claim in (line.of(relation) if line else ()) if claim.rank != "deprecated"]
    best = [claim for claim in group if claim.rank == "preferred"] or group
    return [claim for claim in best if claim.mainsnak.snaktype == "value" and _holds(claim, day)]


def _holds(claim: WikidataClaim, day: Day) -> bool:
    starts = spans(claim, START)
    return not ended_by(claim, day) and (not starts or min(start.last for start in starts) <= day)


def items_on(line: Entity | None, relation: str, day: Day) -> set[str]:
    """The items that hold on a day."""
    return {name for claim in statements_on(line, relation, day) if (name := entity_of(claim.mainsnak))}


def rules_along(row: Row, path: Sequence[Row]) -> Iterator[tuple[Mapping[str, str], dict[str, str]]]:
    """The rules of the table that lead along the path, each with what `s`, `o` and `z` are."""
    for rule in _RULES:
        names = {"s": row["subject"], "o": path[0]["object"]}
        premise = rule["premise"].split()
        if rule["relation"] != row["relation"] or len(path) != 1 + bool(premise):
            continue
        if premise:
            step = path[1]
            if (step["subject"], step["relation"]) != (names[premise[0]], premise[1]):
                continue
            if premise[2] == "z":
                names["z"] = step["object"]
            elif step["object"] != premise[2]:
                continue
        subject, relation, _ = rule["conclusion"].split()
        if (names[subject], relation) == (row["asked_subject"], row["asked_relation"]):
            yield rule, names


def concluded(row: Row, path: Sequence[Row]) -> set[str]:
    return {names[rule["conclusion"].split()[2]] for rule, names in rules_along(row, path)}


def right_before(row: Row, updated: Row, dumps: Dumps) -> tuple[set[str] | None, bool]:
    """What was right without the update, None where that is not known; whether K0 states another answer."""
    old, (subject, relation) = only_object(updated, "obsolete"), (row["subject"], row["relation"])
    before = bool(statements_on(dumps.old.get(subject), relation, dumps.t_old))
    if row["criterion"] in KEPT or old is None:
        # No answer follows from an old object that is not there.
        return set(), before and row["criterion"] != "compose_object"
    asked = row["asked_subject"], row["asked_relation"]
    if row["criterion"] == "compose_object":
        line = old["id"] or ""
        claims = statements_on(dumps.old.get(line), asked[1], dumps.t_old)
        now = statements_on(dumps.new.get(line), asked[1], dumps.t_new)
        return _labelled([*claims, *now], dumps), bool(claims)
    if row["criterion"] != "logical":
        return {old["id"] or plain(old["label"])}, before
    if row["kind"] == "reverse":
        stale = {answer["id"] for answer in row["stale"]}
        wrong = {
            item for item in stale if asked[0] not in items_on(dumps.old.get(item), relation, dumps.t_old)
        }
        return stale - wrong, before or bool(stale)
    claims = statements_on(dumps.old.get(asked[0]), asked[1], dumps.t_old)
    if row["kind"] == "rule":
        for rule, names in rules_along(row, row["path"]):
            premise = rule["premise"].split()
            if "z" in names and rule["conclusion"].startswith("s"):
                line = dumps.old.get({**names, "o": old["id"] or ""}[premise[0]])
                values = [
                    claim
                    for claim in statements_on(line, premise[1], dumps.t_old)
                    if entity_of(claim.mainsnak)
                ]
                claims += values if len({entity_of(value.mainsnak) for value in values}) == 1 else []
        return _labelled(claims, dumps), any(entity_of(claim.mainsnak) for claim in claims)
    return _labelled(claims, dumps), before or bool(claims)


def _labelled(claims: Sequence[WikidataClaim], dumps: Dumps) -> set[str]:
    """The items of statements that have a label, and dates, as the answers name them."""
    names = set()
    for claim in claims:
        if (item := entity_of(claim.mainsnak)) is not None:
            names |= {item} if dumps.name_of(item)[0] else set()
        elif claim.mainsnak.value_datatype == "time":
            names.add(written_date(claim.mainsnak.datavalue.value) or "")
    return names - {""}
