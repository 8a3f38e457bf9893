"""Lines of a dump as the second implementation of the method reads them: statements, entities, dates."""

import json
import re
from collections.abc import Mapping
from typing import Any

from qwikidata.claim import WikidataClaim

from factdrift.audit import filters
from factdrift.audit.dates import Day, packed, span
from factdrift.audit.filters import Dump, How, Relation, Span, Statement
from factdrift.audit.lines import Entity, item_number
from factdrift.audit.survey import Survey
from factdrift.audit.values import END, POINT, START, identity, is_unknown, plain, times
from factdrift.core.switches import switches


def method_of(configuration: Mapping[str, Any], t_old: Day, t_new: Day) -> How:
    """The variant with its switches, as the configuration of a build chooses them."""
    chosen = switches(configuration)
    own = {name: chosen[name] for name in ("dates", "objects", "merges", "leaks")}
    return How(configuration["variant"], t_old=packed(t_old), t_new=packed(t_new), **own)


def read(value: Mapping[str, Any], how: How) -> Span | None:
    """The days that a date may mean, as the variant reads it; None if it cannot be read."""
    date = span(value)
    if date is None:
        return None
    if how.dates == "interval":
        return Span(packed(date.first), packed(date.last))
    if how.variant == "reference":
        day = packed(date.written)
    elif value["precision"] >= 9:
        day = packed(date.first)
    else:
        year = re.match(r"([+-])0*(\d+)-", value["time"])
        assert year is not None  # span() has read it
        day = packed((int(year[2]) * (-1 if year[1] == "-" else 1), 1, 1))
    return Span(day, day)


def dump_of(entities: Mapping[str, Entity], subjects: Mapping[str, Entity], survey: Survey, how: How) -> Dump:
    """A dump that has the statements of `subjects`, and of all `entities` the label, article and classes."""
    statements = [
        _statement(int(entity.id[1:]), claim, survey.relations, how)
        for entity in subjects.values()
        for group in entity.claims.values()
        for claim in group
    ]
    known = {**entities, **subjects}
    briefs = {
        int(name[1:]): filters.Entity(
            plain(entity.label) or None, entity.has_article, entity.classes, tuple(entity.aliases)
        )
        for name, entity in known.items()
        if name[:1] == "Q"
    }
    labels = {int(name[1:]): entity.label for name, entity in known.items() if name[:1] == "Q"}
    return Dump(tuple(statements), briefs, survey.relations, survey.classes, labels)


def _statement(subject: int, claim: WikidataClaim, relations: Mapping[int, Relation], how: How) -> Statement:
    main = claim.mainsnak
    property_ = int(claim.property_id[1:])
    known = relations.get(property_)
    has_value = main.snaktype == "value"
    value: Any = main.datavalue.value if has_value else None
    is_time = has_value and main.value_datatype == "time"
    object_ = item_number(value)
    start, end, pit = (
        [date for value in times(claim, name) if (date := read(value, how))] for name in (START, END, POINT)
    )
    return Statement(
        subject=subject,
        property=property_,
        id=claim.claim_id.upper(),
        rank=claim.rank,
        snak=main.snaktype,
        datatype=main.snak_datatype or (known.datatype if known else None) or "",
        object=object_,
        key=repr(identity(main)),
        json=None if object_ is not None or not has_value else json.dumps(value, sort_keys=True),
        time=read(value, how) if is_time else None,
        precision=value.get("precision") if is_time else None,
        start=min(start, default=None),
        start_unknown=not start and _unknown(claim, START),
        end=max(end, default=None),
        end_unknown=not end and _unknown(claim, END),
        pit=max(pit, default=None),
        qualifiers=frozenset(int(name[1:]) for name in claim.qualifiers),
    )


def _unknown(claim: WikidataClaim, qualifier: str) -> bool:
    """Whether a qualifier without a readable date says `unknown value`, or a date that cannot be read."""
    return is_unknown(claim, qualifier) or any(times(claim, qualifier))
