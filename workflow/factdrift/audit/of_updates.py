"""Checks of one update of `wikifactdiff.parquet` against both dumps."""

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from qwikidata.claim import WikidataClaim
from qwikidata.snak import WikidataSnak

from factdrift.audit.dates import Day, span
from factdrift.audit.kinds import DECLARED, FAILED, PASSED, UNCHECKED
from factdrift.audit.lines import Entity
from factdrift.audit.of_tables import Shared, differing
from factdrift.audit.phrases import contains
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
)
from factdrift.core.columns import Row

Finding = tuple[str, str, str]
"""Kind, outcome and reason."""


class Dumps(NamedTuple):
    """The entities of both dumps that the sampled rows name, and the settings of the build that matter here.

    `birth`: relation -> whether its oldest value counts, for the relations that date a new entity.
    `supplied`: entities whose label the user supplied. `lines`: the decoded lines of the new dump that were
    kept. `split`: seed and share of the test split. `sitelinks_count`: popularity comes from them, not from
    page views, which are not at hand.
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
    sitelinks_count: bool
    lines: Mapping[str, Mapping[str, Any]]

    def side(self, name: str) -> Mapping[str, Entity]:
        return self.old if name == "old" else self.new

    def lines_of(self, name: str) -> list[Entity]:
        """The lines of an entity, that of the new dump first; those without an article last, which count only
        where there is no other."""
        lines = [line for side in (self.new, self.old) if (line := side.get(name))]
        return sorted(lines, key=lambda line: not line.has_article)

    def popular(self, name: str) -> float | None:
        """The popularity, ln(1 + sitelinks), of an entity; None where its source is not at hand."""
        lines = self.lines_of(name)[:1] if self.sitelinks_count else []
        return math.log1p(lines[0].sitelinks) if lines else None

    def name_of(self, name: str) -> tuple[str, set[str]]:
        """Label and aliases of an entity: the new dump's, else the old one's, else a supplied label."""
        for line in self.lines_of(name):
            if line.label:
                return plain(line.label), {*map(plain, line.aliases)} - {""}
        return plain(self.supplied.get(name)), set()


def check_update(row: Row, dumps: Dumps, shared: Shared) -> Iterator[Finding]:
    """The findings of each kind about one update; one finding a kind if it passes, else one a failure."""
    update = _Update(row, dumps)
    yield from outcomes("statement", _statements(update))
    yield from outcomes("main_snak", _main_snaks(update))
    yield from outcomes("rank", _ranks(update))
    yield from outcomes("dates", _dates(update))
    yield from outcomes("labels", _labels(update))
    for kind, decision, check in (("gone", "obsolete", _not_gone), ("new", "new", _not_new)):
        if values := [value for value in row["objects"] if value["decision"] == decision]:
            failures = ((value["label"], reason) for value in values for reason in check(update, value))
            yield from outcomes(kind, (f"{label}: {reason}" for label, reason in failures))
    if any(value["decision"] == "static" for value in row["objects"]):
        yield from judged("static", _static(update))
    if row["is_replace"]:
        yield from outcomes("single", _rivals(update))
    yield from judged("leak", _leaks(row))
    yield from outcomes("template", shared.templates_of(row))
    yield from outcomes("prompt", prompts(row, dumps.templates))
    yield from outcomes("drawn", _split(row, dumps))
    yield from _popularity(row, dumps)
    outcome = DECLARED if row["subject_is_ambiguous"] else FAILED
    yield from outcomes("unique", shared.questions_of(row), outcome)


def outcomes(kind: str, reasons: Iterable[str], outcome: str = FAILED) -> Iterator[Finding]:
    """A finding for each reason; one that says `passed` if there is none."""
    return judged(kind, ((outcome, reason) for reason in reasons))


def judged(kind: str, failures: Iterable[tuple[str, str]]) -> Iterator[Finding]:
    """A finding for each outcome and its reason; one that says `passed` if there is none."""
    findings = [(kind, outcome, reason) for outcome, reason in failures]
    yield from findings or [(kind, PASSED, "")]


def statement_of(entity: Entity, name: str) -> WikidataClaim | None:
    """The statement of an id; the case of ids differs between dumps."""
    wanted = name.upper()
    claims = (claim for group in entity.claims.values() for claim in group)
    return next((claim for claim in claims if claim.claim_id.upper() == wanted), None)


class _Update:
    """An update beside both dumps.

    `lines`: side -> the subject's line. `named`: each object with each dump of which it names a statement,
    and that statement; `claims`: those that are there.
    """

    def __init__(self, row: Row, dumps: Dumps) -> None:
        self.row, self.dumps = row, dumps
        self.lines = {side: dumps.side(side).get(row["subject"]["id"]) for side in ("old", "new")}
        self.named: list[tuple[Row, str, WikidataClaim | None]] = [
            (value, side, statement_of(line, name) if line else None)
            for value in row["objects"]
            for side, line in self.lines.items()
            if (name := value[f"{side}_statement"]) is not None
        ]
        self.claims = [(value, side, claim) for value, side, claim in self.named if claim]

    def group(self, side: str) -> list[WikidataClaim]:
        """The statements of the relation in a dump, not deprecated."""
        line = self.lines[side]
        return line.of(self.row["relation"]["id"]) if line else []

    def same(self, side: str, value: Row) -> list[WikidataClaim]:
        """Those of the group that have the value of an object."""
        wanted = {identity(claim.mainsnak) for object_, _, claim in self.claims if object_ is value}
        return [claim for claim in self.group(side) if identity(claim.mainsnak) in wanted]


def _statements(update: _Update) -> Iterator[str]:
    row = update.row
    for value in row["objects"]:
        if value["old_statement"] is None and value["new_statement"] is None:
            yield f"{value['label']}: no statement in either dump is named"
        for side in ("old", "new"):
            if value[f"{side}_statement"] is None and value[f"{side}_revision"] is not None:
                yield f"{value['label']}: a revision of the {side} dump, and no statement"
    for value, side, claim in update.named:
        name, entity = value[f"{side}_statement"], update.lines[side]
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


def _main_snaks(update: _Update) -> Iterator[str]:
    for value, side, claim in update.claims:
        entity = update.lines[side]
        if entity and (reason := not_main_snak(value, claim, entity)):
            # A value that both dumps state is written as the new one does.
            own = identity(claim.mainsnak)
            news = [later for of, where, later in update.claims if of is value and where == "new"]
            if side == "new" or not any(identity(twin.mainsnak) == own for twin in news):
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
    stated = (triple for group in entity.claims.values() for triple in group)
    for other in stated:
        if raw_of(other.mainsnak) == value["raw"]:
            return (
                f"{value['raw']} is the main snak of {other.claim_id} ({other.property_id}), not of "
                f"{claim.claim_id}"
            )
    return f"{value['raw']} is not the main snak of {claim.claim_id}, which is {raw_of(main)}"


def _ranks(update: _Update) -> Iterator[str]:
    for value, side, claim in update.claims:
        if claim.rank == "deprecated":
            yield f"{value['label']}: {claim.claim_id} is deprecated in the {side} dump"


def _dates(update: _Update) -> Iterator[str]:
    for value, side, claim in update.claims:
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
                known = " or ".join(sorted(filter(None, texts))) or "none"
                yield f"{value['label']}: {field} {value[field]} where the {side} dump has {known}"


def _labels(update: _Update) -> Iterator[str]:
    row, dumps = update.row, update.dumps
    named = [row["subject"], row["relation"]]
    named += [value for value in row["objects"] if value["id"]]
    for name in named:
        yield from wrong_names(name["id"], name["label"], name["description"], dumps)
    for value in row["objects"]:
        if bool(value["id"]) != (value["short"] is None):
            yield f"{value['label']}: short is {value['short']!r}, only literals have one"
        if value["description"] and not value["id"]:
            yield f"{value['label']}: a literal has no description"
        if not value["id"]:
            # As the statement has it: the new dump's, else the old one's.
            claims = {side: claim for object_, side, claim in update.claims if object_ is value}
            snaks = (claims[side].mainsnak for side in ("new", "old") if side in claims)
            stated = next((snak for snak in snaks if snak.snaktype == "value"), None)
            if reason := wrong_literal(value, stated, dumps):
                yield reason


def wrong_literal(value: Row, stated: WikidataSnak | None, dumps: Dumps) -> str | None:
    """Why the label of a literal, or its short form, does not say its value; None if it does."""
    content = stated.datavalue.value if stated else None
    content = content if isinstance(content, dict) else None
    return misread(value, content, dumps.variant == "reference", dumps.new or dumps.old)


def other_label(entity: str, label: str | None, due: str | None) -> Iterator[str]:
    """That an entity is not called as the dumps do, if they have a label of it."""
    if due and plain(label) != plain(due):
        yield f"{entity}: label {label!r} where the dumps have {due!r}"


def wrong_names(entity: str, label: str, description: str | None, dumps: Dumps) -> Iterator[str]:
    """What is wrong with the names of an entity; nothing if neither dump, nor a table of labels, has any."""
    lines = dumps.lines_of(entity)
    yield from other_label(entity, label, dumps.name_of(entity)[0])
    described = {plain(line.description) for line in lines if line.description}
    if not description and described:
        yield f"{entity}: no description, and the dumps have {min(described)!r}"
    elif description and lines and plain(description) not in described:
        yield f"{entity}: the dumps do not have the description {description!r}"


def _split(row: Row, dumps: Dumps) -> Iterator[str]:
    """The first 52 bits of a hash of the subject, as a share of all, decide."""
    seed, share = dumps.split
    digest = hashlib.sha256(f"split:{seed}:{row['subject']['id'][1:]}".encode()).hexdigest()
    yield from differing(row, {"split": "test" if int(digest[:13], 16) / 16**13 < share else "train"}, "hash")


def _popularity(row: Row, dumps: Dumps) -> Iterator[Finding]:
    if (due := dumps.popular(row["subject"]["id"])) is None:
        yield "popularity", UNCHECKED, "the page views are not read here"
        return
    reasons = list(differing(row, {"popularity_source": "sitelinks"}, "configuration"))
    if not close(row["subject_popularity"], due):
        reasons.append(f"popularity {row['subject_popularity']}, by the dumps {due:.9f}")
    yield from outcomes("popularity", reasons)


def _not_gone(update: _Update, value: Row) -> Iterator[str]:
    dumps, group = update.dumps, update.group("new")
    for claim in update.same("new", value):
        if _is_outranked(claim, group):
            continue
        points = [date.first for date in spans(claim, POINT)]
        followed = any(date.first > max(points) for other in group for date in spans(other, POINT) if points)
        if holds(claim, dumps.t_new):
            yield f"{claim.claim_id} still holds in the new dump"
        elif points and not followed and not any(end.last <= dumps.t_new for end in spans(claim, END)):
            yield f"{claim.claim_id} is the latest measurement in the new dump"
    if value["id"] in dumps.old and value["id"] not in dumps.new:
        yield f"{value['id']} has no line in the new dump: it was merged or deleted"


def _is_outranked(claim: WikidataClaim, group: Sequence[WikidataClaim]) -> bool:
    return claim.rank != "preferred" and any(triple.rank == "preferred" for triple in group)


def _not_new(update: _Update, value: Row) -> Iterator[str]:
    row, dumps = update.row, update.dumps
    if not any(_began(claim, dumps) for claim in update.same("new", value)):
        born = (row["subject"]["id"], value["id"]) if row["subject_is_ph_new"] else (value["id"],)
        if not any(_is_new(birth, dumps) for birth in born if birth):
            yield "no date of the statement, or of a new entity, lies between the two dates"
    if row["subject_is_ph_new"] or value["announced"]:
        return
    for claim in update.same("old", value):
        if holds(claim, dumps.t_old) and not _is_outranked(claim, update.group("old")):
            yield f"{claim.claim_id} holds in the old dump already"


def _began(claim: WikidataClaim, dumps: Dumps) -> bool:
    """Whether a start, a point in time or the value itself lies between the two dates."""
    dates = spans(claim, START) + spans(claim, POINT)
    if claim.mainsnak.value_datatype == "time" and (own := span(claim.mainsnak.datavalue.value)):
        dates.append(own)
    return any(date.first < dumps.t_new and date.last > dumps.t_old for date in dates)


def _is_new(entity: str, dumps: Dumps) -> bool:
    """Whether an entity has a date of birth, inception or the like after T_old."""
    if (line := dumps.new.get(entity)) is None:
        return False
    for relation, oldest in dumps.birth.items():
        values = (claim.mainsnak for claim in line.of(relation))
        stated = (span(snak.datavalue.value) for snak in values if snak.value_datatype == "time")
        dates = [date for date in stated if date]
        if dates and oldest:
            dates = [min(dates, key=lambda date: date.first)]
        if any(date.last > dumps.t_old for date in dates):
            return True
    return False


def _static(update: _Update) -> Iterator[tuple[str, str]]:
    dumps = update.dumps
    for value in update.row["objects"]:
        if value["decision"] != "static":
            continue
        claims = update.same("new", value)
        starts = [[date.first for date in spans(claim, START)] for claim in claims]
        if not any(holds(claim, dumps.t_new) or spans(claim, POINT) for claim in claims):
            yield FAILED, f"{value['label']}: no statement of the new dump holds at T_new"
        elif all(start and min(start) > dumps.t_old for start in starts):
            # The paper's rule 17 asks for the end only.
            outcome = DECLARED if value["rule"] == "end_after" else FAILED
            yield outcome, f"{value['label']}: it began after T_old"


def _rivals(update: _Update) -> Iterator[str]:
    """Other values of a replacement that hold at T_new, of the same rank and not qualified any further."""
    dumps = update.dumps
    news = [object_ for object_ in update.row["objects"] if object_["decision"] == "new"]
    if len(news) > 1:
        yield f"a replacement by {len(news)} objects"
    chosen = news[0] if news else None
    for own in (claim for value, side, claim in update.claims if value is chosen and side == "new"):
        points = [date.first for date in spans(own, POINT)]
        for claim in update.group("new"):
            if identity(claim.mainsnak) == identity(own.mainsnak) or claim.mainsnak.snaktype != "value":
                continue
            if own.rank == "preferred" and claim.rank != "preferred":
                continue
            if set(claim.qualifiers) - set(own.qualifiers) - DATES:
                continue
            later_points = [
                date for date in spans(claim, POINT) if points and max(points) <= date.first <= dumps.t_new
            ]
            if (holds(claim, dumps.t_new) and not points) or later_points:
                yield f"{raw_of(claim.mainsnak)} ({claim.claim_id}) holds at T_new too"


def _leaks(row: Row) -> Iterator[tuple[str, str]]:
    prompts_of_row = (row["update_prompt"], *row["generalization_prompts"])
    for value in (value for value in row["objects"] if value["decision"] != "static"):
        naming = (text for text in prompts_of_row if contains(text.replace("____", " "), value["label"]))
        if (prompt := next(naming, None)) is not None:
            outcome = DECLARED if value["leaks"] else FAILED
            yield outcome, f"{value['label']!r} is in {prompt!r}"


def named_entities(row: Row, birth: frozenset[str]) -> Iterator[tuple[str, frozenset[str] | None]]:
    """The entities whose lines the checks of a row need beside the subject's, with the relations of each."""
    yield row["relation"]["id"], frozenset()
    yield from ((value["id"], birth) for value in row["objects"] if value["id"])
