"""Checks of one update of `wikifactdiff.parquet` against both dumps."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from qwikidata.claim import WikidataClaim

from factdrift.audit.dates import Day, span
from factdrift.audit.kinds import DECLARED, FAILED, PASSED, UNCHECKED
from factdrift.audit.lines import Entity
from factdrift.audit.of_tables import Shared
from factdrift.audit.sentences import Templates, misread, prompts
from factdrift.audit.values import (
    DATES,
    END,
    POINT,
    START,
    close,
    entity_of,
    holds,
    identity,
    is_unknown,
    others,
    plain,
    raw_of,
    spans,
    words,
)

Row = Mapping[str, Any]
Finding = tuple[str, str, str]
"""Kind, outcome and reason."""


class Dumps(NamedTuple):
    """The entities of both dumps that the sampled rows name, and the settings of the build that matter here.

    `birth`: relation -> whether its oldest value counts, for the relations that date a new entity.
    `supplied`: entities whose label the user supplied. `lines`: the decoded lines of the new dump that were
    kept. `split`: seed and share of the test split. `popular`: the popularity of an entity, None where its
    source is not at hand.
    """

    old: Mapping[str, Entity]
    new: Mapping[str, Entity]
    t_old: Day
    t_new: Day
    variant: str
    birth: Mapping[str, bool]
    supplied: Mapping[str, str]
    templates: Templates
    split: tuple[int, float]
    popular: Callable[[str], float | None]
    lines: Mapping[str, Mapping[str, Any]]

    def side(self, name: str) -> Mapping[str, Entity]:
        return self.old if name == "old" else self.new


def check_update(row: Row, dumps: Dumps, shared: Shared) -> Iterator[Finding]:
    """The findings of each kind about one update; one finding a kind if it passes, else one a failure."""
    yield from outcomes("statement", _statements(row, dumps))
    yield from outcomes("main_snak", _main_snaks(row, dumps))
    yield from outcomes("rank", _ranks(row, dumps))
    yield from outcomes("dates", _dates(row, dumps))
    yield from outcomes("labels", _labels(row, dumps))
    for kind, decision, check in (("gone", "obsolete", _not_gone), ("new", "new", _not_new)):
        values = [value for value in row["objects"] if value["decision"] == decision]
        if values:
            failures = ((value["label"], reason) for value in values for reason in check(row, value, dumps))
            yield from outcomes(kind, (f"{label}: {reason}" for label, reason in failures))
    yield from _static(row, dumps)
    if row["is_replace"]:
        yield from outcomes("single", _rivals(row, dumps))
    yield from _leaks(row)
    yield from outcomes("template", shared.templates_of(row))
    yield from outcomes("prompt", prompts(row, dumps.templates))
    yield from outcomes("drawn", _split(row, dumps))
    yield from _popularity(row, dumps)
    outcome = DECLARED if row["subject_is_ambiguous"] else FAILED
    yield from outcomes("unique", shared.questions_of(row), outcome)


def outcomes(kind: str, reasons: Iterator[str], outcome: str = FAILED) -> Iterator[Finding]:
    """A finding for each reason; one that says `passed` if there is none."""
    failures = list(reasons)
    yield from ((kind, outcome, reason) for reason in failures)
    if not failures:
        yield kind, PASSED, ""


def differing(row: Row, wanted: Mapping[str, Any], source: str) -> Iterator[str]:
    """The columns of a row that do not have the wanted values, which come from `source`."""
    for name, value in wanted.items():
        if row[name] != value:
            yield f"{name} is {row[name]}, by the {source} {value}"


def statement_of(entity: Entity, name: str) -> WikidataClaim | None:
    """The statement of an id; the case of ids differs between dumps."""
    wanted = name.upper()
    claims = (claim for group in entity.claims.values() for claim in group)
    return next((claim for claim in claims if claim.claim_id.upper() == wanted), None)


def _sides(row: Row, dumps: Dumps) -> Iterator[tuple[Row, str, Entity | None, WikidataClaim | None]]:
    """Each object with each dump of which it names a statement: the subject's line and the statement."""
    for value in row["objects"]:
        for side in ("old", "new"):
            name = value[f"{side}_statement"]
            if name is not None:
                entity = dumps.side(side).get(row["subject"]["id"])
                yield value, side, entity, statement_of(entity, name) if entity else None


def _claims(row: Row, dumps: Dumps) -> Iterator[tuple[Row, str, WikidataClaim]]:
    return ((value, side, claim) for value, side, _, claim in _sides(row, dumps) if claim)


def _statements(row: Row, dumps: Dumps) -> Iterator[str]:
    for value in row["objects"]:
        if value["old_statement"] is None and value["new_statement"] is None:
            yield f"{value['label']}: no statement in either dump is named"
        for side in ("old", "new"):
            if value[f"{side}_statement"] is None and value[f"{side}_revision"] is not None:
                yield f"{value['label']}: a revision of the {side} dump, and no statement"
    for value, side, entity, claim in _sides(row, dumps):
        name = value[f"{side}_statement"]
        if entity is None:
            yield f"{value['label']}: {row['subject']['id']} has no line in the {side} dump"
        elif claim is None:
            yield f"{value['label']}: the {side} dump has no statement {name} of {entity.id}"
        elif claim.property_id != row["relation"]["id"]:
            yield f"{value['label']}: {name} is a statement of {claim.property_id} in the {side} dump"
        elif value[f"{side}_revision"] != entity.revision:
            yield (
                f"{value['label']}: revision {value[f'{side}_revision']} where the {side} dump has "
                f"{entity.revision}"
            )


def _main_snaks(row: Row, dumps: Dumps) -> Iterator[str]:
    for value, side, entity, claim in _sides(row, dumps):
        if claim is None or entity is None:
            continue
        if reason := not_main_snak(value, claim, entity):
            # A value that both dumps state is written as the new one does.
            named = value["new_statement"] if side == "old" else None
            twin = statement_of(dumps.new[entity.id], named) if named and entity.id in dumps.new else None
            if twin is None or identity(twin.mainsnak) != identity(claim.mainsnak):
                yield f"{value['label']}: {reason} in the {side} dump"
        datatype = claim.mainsnak.snak_datatype
        if datatype and value["datatype"] != datatype:
            yield f"{value['label']}: datatype {value['datatype']} where the {side} dump has {datatype}"


def not_main_snak(value: Row, claim: WikidataClaim, entity: Entity) -> str | None:
    """Why the `raw` value (and the `id`) is not the main snak of a statement; None if it is."""
    main = claim.mainsnak
    if raw_of(main) == value["raw"] and value["id"] in (entity_of(main), None):
        return None
    for name, snak in others(claim):
        if raw_of(snak) == value["raw"]:
            return f"{value['raw']} is the {name} of {claim.claim_id}, whose main snak is {raw_of(main)}"
    places = (each for group in entity.claims.values() for each in group)
    for each in places:
        if raw_of(each.mainsnak) == value["raw"]:
            return (
                f"{value['raw']} is the main snak of {each.claim_id} ({each.property_id}), not of "
                f"{claim.claim_id}"
            )
    return f"{value['raw']} is not the main snak of {claim.claim_id}, which is {raw_of(main)}"


def _ranks(row: Row, dumps: Dumps) -> Iterator[str]:
    for value, side, claim in _claims(row, dumps):
        if claim.rank == "deprecated":
            yield f"{value['label']}: {claim.claim_id} is deprecated in the {side} dump"


def _dates(row: Row, dumps: Dumps) -> Iterator[str]:
    for value, side, claim in _claims(row, dumps):
        if side == "old" and value["new_statement"] is not None:
            continue  # the rules see the new dump's dates
        for field, qualifier in (("start", START), ("end", END), ("point_in_time", POINT)):
            own = spans(claim, qualifier)
            first = [date.first for date in own]
            wanted = min(first) if field == "start" and first else max(first, default=None)
            texts: set[str | None] = {date.text for date in own if date.first == wanted}
            if not texts and field != "point_in_time" and is_unknown(claim, qualifier):
                texts = {"somevalue"}
            if value[field] not in (texts or {None}):
                said = " or ".join(sorted(filter(None, texts))) or "none"
                yield f"{value['label']}: {field} {value[field]} where the {side} dump has {said}"


def _labels(row: Row, dumps: Dumps) -> Iterator[str]:
    named = [row["subject"], row["relation"]]
    named += [value for value in row["objects"] if value["id"]]
    for each in named:
        yield from wrong_names(each["id"], each["label"], each["description"], dumps)
    for value in row["objects"]:
        if bool(value["id"]) != (value["short"] is None):
            yield f"{value['label']}: short is {value['short']!r}, only literals have one"
        if not value["id"]:
            reason = misread(
                value, _stated(row, value, dumps), dumps.variant == "reference", dumps.new or dumps.old
            )
            if reason:
                yield reason


def wrong_names(entity: str, label: str, description: str | None, dumps: Dumps) -> Iterator[str]:
    """What is wrong with the names of an entity; nothing if neither dump, nor a table of labels, has any."""
    lines = [line for side in (dumps.new, dumps.old) if (line := side.get(entity))]
    own = dumps.supplied.get(entity)
    expected = next((line.label for line in lines if line.label), own)
    if expected is not None and plain(label) != plain(expected):
        yield f"{entity}: label {label!r} where the dumps have {expected!r}"
    described = {plain(line.description) for line in lines if line.description}
    if not description and described:
        yield f"{entity}: no description, and the dumps have {min(described)!r}"
    elif description and lines and plain(description) not in described:
        yield f"{entity}: the dumps do not have the description {description!r}"


def _split(row: Row, dumps: Dumps) -> Iterator[str]:
    """The first 52 bits of a hash of the subject, as a share of all, decide."""
    seed, share = dumps.split
    digest = hashlib.sha256(f"split:{seed}:{row['subject']['id'][1:]}".encode()).hexdigest()
    due = "test" if int(digest[:13], 16) / 16**13 < share else "train"
    if row["split"] != due:
        yield f"split is {row['split']}, by its hash {due}"


def _popularity(row: Row, dumps: Dumps) -> Iterator[Finding]:
    due = dumps.popular(row["subject"]["id"])
    if due is None:
        yield "popularity", UNCHECKED, "the page views are not read here"
        return
    reasons = []
    if not close(row["subject_popularity"], due):
        reasons.append(f"popularity {row['subject_popularity']}, by the dumps {due:.9f}")
    if row["popularity_source"] != "sitelinks":
        reasons.append(f"source {row['popularity_source']}, but no page views are configured")
    yield from outcomes("popularity", iter(reasons))


def _stated(row: Row, value: Row, dumps: Dumps) -> Mapping[str, Any] | None:
    """The value of an object as its statement has it: the new dump's, else the old one's."""
    for side in ("new", "old"):
        name, entity = value[f"{side}_statement"], dumps.side(side).get(row["subject"]["id"])
        claim = statement_of(entity, name) if name and entity else None
        if claim is not None and claim.mainsnak.snaktype == "value":
            content = claim.mainsnak.datavalue.value
            return content if isinstance(content, dict) else None
    return None


def _same_value(entity: Entity | None, row: Row, value: Row, dumps: Dumps) -> list[WikidataClaim]:
    """The statements of a dump, not deprecated, with the subject, relation and value of an object."""
    if entity is None:
        return []
    wanted = {identity(claim.mainsnak) for each, _, claim in _claims(row, dumps) if each is value}
    return [claim for claim in entity.of(row["relation"]["id"]) if identity(claim.mainsnak) in wanted]


def _not_gone(row: Row, value: Row, dumps: Dumps) -> Iterator[str]:
    entity = dumps.new.get(row["subject"]["id"])
    group = entity.of(row["relation"]["id"]) if entity else []
    for claim in _same_value(entity, row, value, dumps):
        if holds(claim, dumps.t_new) and not _is_outranked(claim, group):
            yield f"{claim.claim_id} still holds in the new dump"
        elif spans(claim, POINT) and not _is_followed(claim, group) and not _is_outranked(claim, group):
            yield f"{claim.claim_id} is the latest measurement in the new dump"
    if value["id"] in dumps.old and value["id"] not in dumps.new:
        yield f"{value['id']} has no line in the new dump: it was merged or deleted"


def _is_outranked(claim: WikidataClaim, group: Sequence[WikidataClaim]) -> bool:
    preferred = any(each.rank == "preferred" for each in group)
    return claim.rank != "preferred" and preferred


def _is_followed(claim: WikidataClaim, group: Sequence[WikidataClaim]) -> bool:
    """Whether another statement of the group has a later point in time."""
    own = max(each.first for each in spans(claim, POINT))
    return any(date.first > own for each in group for date in spans(each, POINT))


def _not_new(row: Row, value: Row, dumps: Dumps) -> Iterator[str]:
    entity = dumps.new.get(row["subject"]["id"])
    claims = _same_value(entity, row, value, dumps)
    if not any(_began(claim, dumps) for claim in claims):
        born = (row["subject"]["id"], value["id"]) if row["subject_is_ph_new"] else (value["id"],)
        if not any(_is_new(each, dumps) for each in born if each):
            yield "no date of the statement, or of a new entity, lies between the two dates"
    if row["subject_is_ph_new"] or value["announced"]:
        return
    before = dumps.old.get(row["subject"]["id"])
    group = before.of(row["relation"]["id"]) if before else []
    for claim in _same_value(before, row, value, dumps):
        if holds(claim, dumps.t_old) and not _is_outranked(claim, group):
            yield f"{claim.claim_id} holds in the old dump already"


def _began(claim: WikidataClaim, dumps: Dumps) -> bool:
    """Whether a start, a point in time or the value itself lies between the two dates."""
    dates = spans(claim, START) + spans(claim, POINT)
    if claim.mainsnak.value_datatype == "time" and (own := span(claim.mainsnak.datavalue.value)):
        dates.append(own)
    return any(date.first < dumps.t_new and date.last > dumps.t_old for date in dates)


def _is_new(entity: str, dumps: Dumps) -> bool:
    """Whether an entity has a date of birth, inception or the like after T_old."""
    line = dumps.new.get(entity)
    if line is None:
        return False
    for relation, oldest in dumps.birth.items():
        values = (claim.mainsnak for claim in line.of(relation))
        found = (span(snak.datavalue.value) for snak in values if snak.value_datatype == "time")
        dates = [date for date in found if date]
        if dates and oldest:
            dates = [min(dates, key=lambda date: date.first)]
        if any(date.last > dumps.t_old for date in dates):
            return True
    return False


def _static(row: Row, dumps: Dumps) -> Iterator[Finding]:
    reasons = []
    for value in row["objects"]:
        if value["decision"] != "static":
            continue
        claims = _same_value(dumps.new.get(row["subject"]["id"]), row, value, dumps)
        outcome, reason = PASSED, ""
        if not any(holds(claim, dumps.t_new) or spans(claim, POINT) for claim in claims):
            outcome, reason = FAILED, f"{value['label']}: no statement of the new dump holds at T_new"
        elif all(_began_after(claim, dumps.t_old) for claim in claims):
            # The paper's rule 17 asks for the end only.
            outcome = DECLARED if value["rule"] == "end_after" else FAILED
            reason = f"{value['label']}: it began after T_old"
        reasons.append(("static", outcome, reason))
    failures = [finding for finding in reasons if finding[1] != PASSED]
    yield from failures or reasons[:1]


def _began_after(claim: WikidataClaim, day: Day) -> bool:
    starts = spans(claim, START)
    return bool(starts) and min(each.first for each in starts) > day


def _rivals(row: Row, dumps: Dumps) -> Iterator[str]:
    """Other values of a replacement that hold at T_new, of the same rank and not qualified any further."""
    entity = dumps.new.get(row["subject"]["id"])
    news = [each for each in row["objects"] if each["decision"] == "new"]
    value = news[0] if news else None
    if len(news) > 1:
        yield f"a replacement by {len(news)} objects"
    if entity is None or value is None:
        return
    chosen = [claim for each, side, claim in _claims(row, dumps) if each is value and side == "new"]
    for own in chosen:
        group = entity.of(row["relation"]["id"])
        points = [each.first for each in spans(own, POINT)]
        for claim in group:
            if identity(claim.mainsnak) == identity(own.mainsnak) or claim.mainsnak.snaktype != "value":
                continue
            if own.rank == "preferred" and claim.rank != "preferred":
                continue
            if set(claim.qualifiers) - set(own.qualifiers) - DATES:
                continue
            later_points = [
                each for each in spans(claim, POINT) if points and max(points) <= each.first <= dumps.t_new
            ]
            if (holds(claim, dumps.t_new) and not points) or later_points:
                yield f"{raw_of(claim.mainsnak)} ({claim.claim_id}) holds at T_new too"


def _leaks(row: Row) -> Iterator[Finding]:
    is_leak = False
    for value in row["objects"]:
        if value["decision"] == "static":
            continue
        for prompt in (row["update_prompt"], *row["generalization_prompts"]):
            if words(value["label"]).strip() and words(value["label"]) in words(prompt.replace("____", " ")):
                outcome = DECLARED if value["leaks"] else FAILED
                yield "leak", outcome, f"{value['label']!r} is in {prompt!r}"
                is_leak = True
                break
    if not is_leak:
        yield "leak", PASSED, ""


def named_entities(row: Row, birth: frozenset[str]) -> Iterator[tuple[str, frozenset[str] | None]]:
    """The entities whose lines the checks of a row need beside the subject's, with the relations of each."""
    yield row["relation"]["id"], frozenset()
    for value in row["objects"]:
        if value["id"]:
            yield value["id"], birth
