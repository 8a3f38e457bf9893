"""The sentence templates of KLoB-c: three a relation, `[X]` the subject, `[Y]` the object at the end.

The project's own table also has, for the checks, the finite verb of each template and the words that mark
its relation. A user's table, in the published layout, is used byte for byte. T01 to T15 are the checks of the
specification.
"""

import csv
import hashlib
import io
import itertools
import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any, NamedTuple

from factdrift.core.errors import InputError
from factdrift.core.paths import KLOB, KLOB_TEMPLATES
from factdrift.core.tables import rows_of
from factdrift.klob.random_words import read_words
from factdrift.klob.relations import Relation
from factdrift.wikidata.ids import property_id, property_number
from factdrift.words.grammar import Marks, cloze, read_grammar
from factdrift.words.names import PLAIN, read_names

SUBJECT, OBJECT = "[X]", "[Y]"
EXPRESSIONS = 3
"""Templates of a relation."""

OWN_COLUMNS = ("pid", "n", "template", "verb", "cues")
SIMILAR = 0.6
"""The Jaccard index of content words from which templates of two relations are too alike (T07)."""

_THE_OBJECT = {1303}
"""Relations whose objects take the article: one plays the cello (T05)."""

_PUBLISHED_RELATION = re.compile(r"(?:.*_\()?(P[1-9][0-9]*)\)?", re.DOTALL)


class Template(NamedTuple):
    """`verb` and `cues` are empty in a user's table."""

    relation: int
    n: int
    text: str
    verb: str = ""
    cues: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """`P103-2`: the second template of P103."""
        return f"{property_id(self.relation)}-{self.n}"


class Templates(NamedTuple):
    """The templates of each relation in order, with the name of their file and its SHA-256."""

    of: Mapping[int, Sequence[Template]]
    name: str
    sha256: str

    @property
    def are_own(self) -> bool:
        """Whether they are of the project's table, which names the verb of each."""
        return all(template.verb for template in self.all())

    def all(self) -> list[Template]:
        return [template for templates in self.of.values() for template in templates]


def read_templates(path: Path, relations: Mapping[int, object]) -> Templates:
    """Reads the project's table (header `pid n template verb cues`) or a user's, in the published layout.

    A user's table is JSON `{"P103": [t1, t2, t3]}`, or tab-separated `relation template`: three rows a
    relation, its cell empty in the second and third, or one row with three lines in its cell. Raises
    InputError that names file and relation if one has not three templates that can be filled in, or is none
    of `relations`.
    """
    try:
        data = path.read_bytes()
        text = data.decode("utf-8")
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; give a table of templates, or `own`") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 ({error}); convert it") from None
    if text.startswith("\t".join(OWN_COLUMNS)):
        entries = _own(path)
    else:
        entries = _json(path, text) if text.lstrip().startswith("{") else _published(path, text)
    of: dict[int, list[Template]] = {}
    for entry in entries:
        if entry.relation not in relations:
            raise InputError(f"{path}: {property_id(entry.relation)} is none of the relations of KLoB")
        once = entry.text.count(SUBJECT) == entry.text.count(OBJECT) == 1
        if not once or not entry.text.endswith(f" {OBJECT}"):
            raise InputError(
                f"{path}: {entry.id}: the template {entry.text!r} cannot be filled in; it must contain "
                f"{SUBJECT} and {OBJECT} once each and end with a blank and {OBJECT}"
            )
        of.setdefault(entry.relation, []).append(entry)
    for relation, templates in of.items():
        if [template.n for template in templates] != list(range(1, EXPRESSIONS + 1)):
            raise InputError(
                f"{path}: {property_id(relation)} has {len(templates)} templates, which must be "
                f"{EXPRESSIONS} in order"
            )
    return Templates(dict(sorted(of.items())), path.name, hashlib.sha256(data).hexdigest())


def _own(path: Path) -> Iterator[Template]:
    for line, (identifier, n, text, verb, cues) in rows_of(path, OWN_COLUMNS):
        try:
            yield Template(property_number(identifier), int(n), text, verb, tuple(cues.split("; ")))
        except ValueError as error:
            raise InputError(f"{path}, line {line}: {error}; correct it") from None


def _json(path: Path, text: str) -> Iterator[Template]:
    try:
        table: Any = json.loads(text)
    except ValueError as error:
        raise InputError(f"{path}: no JSON ({error}); write a map of relations to lists") from None
    for identifier, texts in table.items():
        if not isinstance(texts, list) or not all(isinstance(entry, str) for entry in texts):
            raise InputError(f"{path}: {identifier}: a list of {EXPRESSIONS} templates is needed")
        for n, entry in enumerate(texts, start=1):
            yield Template(_relation(path, identifier), n, entry)


def _published(path: Path, text: str) -> Iterator[Template]:
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter="\t"))
    if not rows or rows[0] != ["relation", "template"]:
        raise InputError(
            f"{path}, line 1: the header must be `relation template`, separated by a tab (the published "
            f"layout), or `{' '.join(OWN_COLUMNS)}`; or the file a JSON map"
        )
    relation, n = None, 0
    for number, row in enumerate(rows[1:], start=2):
        if not any(row):
            continue
        if len(row) != 2:
            raise InputError(f"{path}, row {number}: {len(row)} cells instead of 2; separate them by a tab")
        if row[0]:
            relation, n = _relation(path, row[0]), 0
        if relation is None:
            raise InputError(f"{path}, row {number}: no relation in this row or above; name it")
        for entry in row[1].split("\n"):
            n += 1
            yield Template(relation, n, entry)


def _relation(path: Path, cell: str) -> int:
    if (match := _PUBLISHED_RELATION.fullmatch(cell)) is None:
        raise InputError(f"{path}: {cell!r} is no relation such as P103 or native_(P103)")
    return property_number(match[1])


class Finding(NamedTuple):
    """A defect, or a warning if not `error`; `where` names the template or templates."""

    check: str
    where: str
    message: str
    error: bool = True

    def __str__(self) -> str:
        return f"{self.check} {self.where}: {self.message}{'' if self.error else ' (warning)'}"


WordLists = Mapping[str, Set[str]]
"""`stop`, `gendered`, `allowed` words in lower case; `similar` relations such as `P36/P1376`; `narrow:P108`,
words that fit only some of the relation's subjects or objects."""


def read_word_lists() -> WordLists:
    lists: dict[str, set[str]] = defaultdict(set)
    for _, (name, word) in rows_of(KLOB / "template_words.tsv", ("list", "word")):
        lists[name].add(word)
    return lists


def report(table: Templates, relations: Mapping[int, Relation]) -> None:
    """Prints the findings in a table, if there are any; InputError if the project's own has a defect.

    They are those of the project's word lists and reviewed sentences.
    """
    own = read_templates(KLOB_TEMPLATES, relations)
    words = {word.lower() for word in read_words("web2").entries}
    golden = read_golden() if table.sha256 == own.sha256 else {}
    findings = check_templates(table.all(), own.all(), relations, words, read_word_lists(), golden)
    errors = sum(finding.error for finding in findings)
    if findings:
        warnings = len(findings) - errors
        summary = f"{table.name}: {len(table.all())} templates, {errors} defects, {warnings} warnings"
        print(*findings, summary, sep="\n")
    if errors and table.sha256 == own.sha256:
        raise InputError(f"{KLOB_TEMPLATES}: {errors} defects; fix them")


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
            message = "none of the words that mark this relation occurs in it"
            findings.append(Finding("T11", template.id, message))
        unknown = sorted({word for word in _words(template.text) if word not in words} - lists["allowed"])
        if unknown:
            findings.append(Finding("T13", template.id, f"not in the word list: {', '.join(unknown)}"))
    findings += _pairs(templates, lists)
    for relation in sorted({template.relation for template in templates}):
        own = [template for template in templates if template.relation == relation]
        where = property_id(relation)
        if len({frozenset(_content(template, lists)) for template in own}) < len(own):
            findings.append(Finding("T08", where, "two templates have the same content words"))
        first = sum(template.text.startswith(SUBJECT) for template in own)
        if not 0 < first < max(len(own), EXPRESSIONS):
            message = f"at least one must begin with {SUBJECT}, and one must not"
            findings.append(Finding("T08", where, message))
    written = golden_sentences(templates, relations) if golden else {}
    findings += [
        Finding("T14", name, f"written {written.get(name)!r}, reviewed {golden.get(name)!r}")
        for name in sorted(written.keys() | golden.keys())
        if written.get(name) != golden.get(name)
    ]
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
    if gendered := sorted(lists["gendered"] & set(_words(text))):
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
    narrow = sorted(lists.get(f"narrow:{property_id(template.relation)}", set()) & set(_words(text)))
    if narrow:
        problems.append(("T15", f"does not fit all subjects or objects of the relation: {', '.join(narrow)}"))
    return problems


def _pairs(templates: Sequence[Template], lists: WordLists) -> list[Finding]:
    """T06 and T07: templates that are equal or too alike."""
    problems = []
    texts = {template.id: " ".join(template.text.casefold().split()) for template in templates}
    contents = {template.id: _content(template, lists) for template in templates}
    for template, other in itertools.combinations(templates, 2):
        where = f"{template.id}, {other.id}"
        if texts[template.id] == texts[other.id]:
            problems.append(Finding("T06", where, "the same template twice"))
        pair = property_id(template.relation), property_id(other.relation)
        if pair[0] == pair[1] or {"/".join(pair), "/".join(reversed(pair))} & lists["similar"]:
            continue
        words, others = contents[template.id], contents[other.id]
        alike = len(words & others) / max(len(words | others), 1)
        if alike >= SIMILAR:
            problems.append(Finding("T07", where, f"alike in {alike:.0%} of the content words", error=False))
    return problems


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


def read_golden() -> dict[str, str]:
    """Template id -> the sentence that was reviewed."""
    return {template: text for _, (template, text) in rows_of(KLOB / "golden.tsv", ("template", "sentence"))}


def _occurs(phrases: Collection[str], text: str) -> bool:
    patterns = (rf"(?<!\w){re.escape(phrase)}(?!\w)" for phrase in phrases if phrase)
    return any(re.search(pattern, text, re.IGNORECASE) for pattern in patterns)


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W\d_]+", re.sub(r"\[[XY]\]", " ", text).lower())


def _content(template: Template, lists: WordLists) -> set[str]:
    return set(_words(template.text)) - lists["stop"]
