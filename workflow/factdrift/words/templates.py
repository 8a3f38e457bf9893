"""Sentence templates: a blank for the subject, and one for the object at the end."""

import re

from factdrift.wikidata.text import clean

SUBJECT, OBJECT, RELATION = "{subject}", "{object}", "{relation}"

BLANK = "____"
"""Stands for the object in a cloze test, as in the public dataset. A subject whose name holds it cannot be
asked about: the test would have several blanks."""

_BLANK = re.compile(r"\{[^{}]*\}")


def has_blank(name: str) -> bool:
    """Whether a name that is put into a template would bring another blank into it."""
    return BLANK in name or _BLANK.search(name) is not None


def problem(template: str, generic: bool = False) -> str | None:
    """What is wrong with the form of a template, or None; `generic` ones name `{relation}` once as well."""
    wanted = sorted([SUBJECT, OBJECT, RELATION] if generic else [SUBJECT, OBJECT])
    if sorted(_BLANK.findall(template)) != wanted:
        return f"it must contain {' and '.join(wanted)} once each and no other blank"
    if not template.endswith(OBJECT):
        return "it must end with {object}, without a period"
    if template != " ".join(template.split()):
        return "it has blanks at an end or in a row"
    if template != clean(template):
        return "it holds control characters or characters that are not seen; write it without them"
    # `{subject}'s` and `"{subject}"` are words of a sentence, `non{subject}` is not.
    if re.search(r"[^\s(\"“‘]\{", template) or re.search(r"\}[^\s'’,;:.)\"”!?]", template):
        return "a word is glued to a blank"
    return None


def before_blank(cloze: str) -> str | None:
    """The text of a cloze before its blank; None if text follows the blank."""
    before, blank, after = cloze.rpartition(BLANK)
    return before.rstrip() if blank and before.strip() and not after.strip(" .") else None
