"""Sentence templates: a blank for the subject, and one for the object at the end (spec section 9)."""

from __future__ import annotations

import re

SUBJECT, OBJECT, RELATION = "{subject}", "{object}", "{relation}"

_BLANK = re.compile(r"\{[^{}]*\}")


def filled(template: str, subject: str, object: str) -> str:
    """The sentence of a template; names may contain anything, also what looks like a blank."""
    values = {SUBJECT: subject, OBJECT: object}
    return _BLANK.sub(lambda blank: values.get(blank[0], blank[0]), template)


def problem(template: str, generic: bool = False) -> str | None:
    """What is wrong with the form of a template, or None; `generic` ones name `{relation}` once as well."""
    wanted = sorted([SUBJECT, OBJECT, RELATION] if generic else [SUBJECT, OBJECT])
    if sorted(_BLANK.findall(template)) != wanted:
        return f"it must contain {' and '.join(wanted)} once each and no other blank"
    if not template.endswith(OBJECT):
        return "it must end with {object}, without a period"
    if template != " ".join(template.split()):
        return "it has blanks at an end or in a row"
    # `{subject}'s` and `"{subject}"` are words of a sentence, `non{subject}` is not.
    if re.search(r"[^\s(\"“‘]\{", template) or re.search(r"\}[^\s'’,;:.)\"”!?]", template):
        return "a word is glued to a blank"
    return None
