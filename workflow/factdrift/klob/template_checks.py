"""The checks T01 to T15 of a table of templates."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Mapping, Sequence, Set
from pathlib import Path
from typing import NamedTuple

from factdrift.core.tables import rows_of
from factdrift.klob.relations import Relation
from factdrift.klob.templates import EXPRESSIONS, OBJECT, SUBJECT, Template
from factdrift.wikidata.ids import property_id
from factdrift.words.grammar import Marks, cloze, read_grammar
from factdrift.words.names import PLAIN, read_names

SIMILAR = 0.6
"""The Jaccard index of content words from which templates of two relations are too alike (T07)."""

GOLDEN_COLUMNS = ("template", "sentence")
_THE_OBJECT = {1303}
"""Relations whose objects take the article: one plays the cello (T05)."""


class Finding(NamedTuple):
    """A defect, or a warning if not `error`; `where` names the template or templates."""

    check: str
    where: str
    message: str
    error: bool = True

    def __str__(self) -> str:
        return f"{self.check} {self.where}: {self.message}{'' if self.error else ' (warning)'}"


class WordLists(NamedTuple):
    """The lists of `template_words.tsv` in lower case; `similar` has pairs such as `P36/P1376`."""

    stop: frozenset[str]
    gendered: frozenset[str]
    allowed: frozenset[str]
    similar: frozenset[str]
    narrow: Mapping[str, frozenset[str]]
    """Property id -> words that fit only some of the relation's subjects or objects."""


def read_word_lists(path: Path) -> WordLists:
    lists: dict[str, set[str]] = {}
    for _, (name, word) in rows_of(path, ("list", "word")):
        lists.setdefault(name, set()).add(word)
    plain = {name: frozenset(lists.get(name, ())) for name in ("stop", "gendered", "allowed", "similar")}
    return WordLists(
        **plain,
        narrow={
            name.partition(":")[2]: frozenset(words)
            for name, words in lists.items()
            if name.startswith("narrow:")
        },
    )


def check_templates(
    templates: Sequence[Template],
    reference: Sequence[Template],
    relations: Mapping[int, Relation],
    words: Set[str],
    lists: WordLists,
    golden: Mapping[str, str],
) -> list[Finding]:
    """The findings in a table, sorted by check.

    `reference`: the project's own table, whose verbs and cues are used for a table that has none. `words`:
    the word list in lower case. `golden`: template id -> reviewed sentence, empty for a table without them.
    """
    verbs = {template.verb for template in reference if template.verb}
    cues = {template.relation: template.cues for template in reference}
    findings = []
    for template in templates:
        for check, message in _form(template, lists):
            findings.append(Finding(check, template.id, message))
        if not _occurs([template.verb] if template.verb else verbs, template.text):
            findings.append(Finding("T10", template.id, "no finite verb that is known occurs in it"))
        if not _occurs(template.cues or cues.get(template.relation, ()), template.text):
            findings.append(
                Finding("T11", template.id, "none of the words that mark this relation occurs in it")
            )
        unknown = sorted({word for word in _words(template.text) if word not in words} - lists.allowed)
        if unknown:
            findings.append(Finding("T13", template.id, f"not in the word list: {', '.join(unknown)}"))
    findings += _pairs(templates, lists)
    findings += _relation_wise(templates, lists)
    findings += _against_golden(templates, relations, golden)
    return sorted(findings)


def _form(template: Template, lists: WordLists) -> list[tuple[str, str]]:
    """T01 to T05, T09, T12, T15: the checks of a single template, as (check, message)."""
    text, problems = template.text, []
    if text.count(SUBJECT) != 1 or text.count(OBJECT) != 1:
        problems.append(("T01", f"{SUBJECT} and {OBJECT} must occur in it once each"))
    if not text.endswith(f" {OBJECT}"):
        problems.append(("T02", f"{OBJECT} must be its last word"))
    if not re.match(r"[A-Z]|\[X\]", text):
        problems.append(("T03", f"it must begin with a capital or with {SUBJECT}"))
    gendered = sorted(lists.gendered & set(_words(text)))
    if gendered:
        problems.append(("T04", f"gendered: {', '.join(gendered)}"))
    article = re.search(r"\b(an?|the) \[X\]|\b(an?) \[Y\]", text, re.IGNORECASE)
    if article or (template.relation not in _THE_OBJECT and re.search(r"\bthe \[Y\]", text, re.IGNORECASE)):
        problems.append(("T05", "an article before a name"))
    if re.search(r"\s[,':]", text) or re.search(r":\s*\[Y\]", text):
        problems.append(("T09", f"a blank before punctuation, or a colon before {OBJECT}"))
    rest = re.sub(r"\[[XY]\]", " ", text)
    rest = rest[1:] if text[:1] != "[" else rest
    if re.search(r"\d|\b[A-Z]", rest):
        problems.append(("T12", "a digit, or a capital after the first word"))
    narrow = sorted(lists.narrow.get(property_id(template.relation), frozenset()) & set(_words(text)))
    if narrow:
        problems.append(("T15", f"does not fit all subjects or objects of the relation: {', '.join(narrow)}"))
    return problems


def _pairs(templates: Sequence[Template], lists: WordLists) -> list[Finding]:
    """T06 and T07: templates that are equal or too alike."""
    problems = []
    texts = {template.id: " ".join(template.text.casefold().split()) for template in templates}
    contents = {template.id: _content(template, lists) for template in templates}
    for one, other in itertools.combinations(templates, 2):
        where = f"{one.id}, {other.id}"
        if texts[one.id] == texts[other.id]:
            problems.append(Finding("T06", where, "the same template twice"))
        pair = property_id(one.relation), property_id(other.relation)
        if pair[0] == pair[1] or {"/".join(pair), "/".join(reversed(pair))} & lists.similar:
            continue
        words, others = contents[one.id], contents[other.id]
        alike = len(words & others) / max(len(words | others), 1)
        if alike >= SIMILAR:
            problems.append(Finding("T07", where, f"alike in {alike:.0%} of the content words", error=False))
    return problems


def _relation_wise(templates: Sequence[Template], lists: WordLists) -> list[Finding]:
    """T08: the wordings of one relation differ, also in the position of the subject."""
    faults = []
    for relation in sorted({template.relation for template in templates}):
        own = [template for template in templates if template.relation == relation]
        where = property_id(relation)
        if len({frozenset(_content(template, lists)) for template in own}) < len(own):
            faults.append(Finding("T08", where, "two templates have the same content words"))
        first = sum(template.text.startswith(SUBJECT) for template in own)
        if not 0 < first < max(len(own), EXPRESSIONS):
            faults.append(Finding("T08", where, f"at least one must begin with {SUBJECT}, and one must not"))
    return faults


def golden_sentences(templates: Sequence[Template], relations: Mapping[int, Relation]) -> dict[str, str]:
    """Template id -> the sentence about the pair that fixes the relation's direction.

    Names have their articles if the templates are the project's own, which name their verbs.
    """
    names, grammar, marks = read_names(), read_grammar(), Marks(SUBJECT, OBJECT)
    written = {}
    for template in templates:
        if (relation := relations.get(template.relation)) is None:
            continue
        subject, object_ = relation.check_subject, relation.check_object
        used, other = (names.usage(name) if template.verb else PLAIN for name in (subject, object_))
        written[template.id] = cloze(template.text, subject, used, grammar, other.article, object_, marks)
    return written


def read_golden(path: Path) -> dict[str, str]:
    return {template: text for _, (template, text) in rows_of(path, GOLDEN_COLUMNS)}


def _against_golden(
    templates: Sequence[Template], relations: Mapping[int, Relation], golden: Mapping[str, str]
) -> list[Finding]:
    """T14: every sentence about the direction pairs is one that was reviewed."""
    if not golden:
        return []
    written = golden_sentences(templates, relations)
    return [
        Finding("T14", name, f"written {written.get(name)!r}, reviewed {golden.get(name)!r}")
        for name in sorted(written.keys() | golden.keys())
        if written.get(name) != golden.get(name)
    ]


def _occurs(phrases: Collection[str], text: str) -> bool:
    return any(
        re.search(rf"(?<!\w){re.escape(phrase)}(?!\w)", text, re.IGNORECASE) for phrase in phrases if phrase
    )


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W\d_]+", re.sub(r"\[[XY]\]", " ", text).lower())


def _content(template: Template, lists: WordLists) -> set[str]:
    return set(_words(template.text)) - lists.stop
