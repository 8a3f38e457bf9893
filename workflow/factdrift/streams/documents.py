"""The documents of a corpus: what the dumps up to a date prove of a subject, in sentences. Pure functions.

Wordings depend on the seed, the subject and the relation only, so that the versions of a document differ in
what changed, and in nothing else. Days are packed (YYYYMMDD).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from factdrift.core.columns import Row
from factdrift.streams.subjects import Name
from factdrift.tempripple.schemas import row_id
from factdrift.wikidata.ids import entity_id, property_id
from factdrift.words.grammar import Grammar, cloze, dated
from factdrift.words.names import written
from factdrift.words.templates import OBJECT, SUBJECT

MOST_WORDS = 300
INSTANCE = 31

Tense = Literal["now", "then", "cited"]
Claims = Mapping[int, Sequence[Row]]
"""Relation -> the rows of KNOWN of a subject."""

_IS_A = f"{SUBJECT} is {OBJECT}"
_AN = re.compile(
    r"[aio]|e(?!u|we)|u(?!ni|s[aeiu]|rop|k)|h(?:our|onou?r|eir)|[FHLMNRSX](?![AEIOU])[A-Z0-9]|[AEIO]"
)
_HEAD = re.compile(r" (?:of|in|with|for|on|at|to|by|bordering) ")
_PLURAL = re.compile(r"(?!.*\b(?:series|species|corps|headquarters)$).*[^siu]s")


class Claim(NamedTuple):
    """A fact that a sentence states, the tense in which it does, and the days on which it does."""

    subject: int
    relation: int
    value: int
    statement: str | None
    tense: Tense
    first: int
    last: int


class Sentence(NamedTuple):
    """A sentence and what it states."""

    text: str
    claims: tuple[Claim, ...]

    @property
    def words(self) -> int:
        return self.text.count(" ") + 1


class Writer(NamedTuple):
    """Puts facts in sentences: names of items, templates of relations, and what draws a wording."""

    names: Mapping[int, Name]
    templates: Mapping[int, Sequence[str]]
    grammar: Grammar
    seed: int

    def says(self, relation: int) -> bool:
        """Whether a relation has templates."""
        return relation in self.templates

    def present(self, claims: Sequence[Claim], several: bool) -> Sentence:
        """`The official language of Belgium is Dutch, French and German.`: values of a subject and relation.

        `several`: several values hold at some time; then a template that begins with the subject is chosen.
        """
        subject, relation = claims[0][:2]
        if relation == INSTANCE:
            kinds = [indefinite(self.names[claim.value].label) for claim in claims]
            return self._filled(self._in_number(_IS_A, subject), claims, _listed(kinds))
        texts = self.templates[relation]
        if several:
            texts = [text for text in texts if text.startswith(SUBJECT)] or texts
        return self._filled(self._in_number(self._drawn(texts, claims[0])[0], subject), claims)

    def past(self, claim: Claim, when: str) -> Sentence | None:
        """`The capital of Germany was Bonn from 1949 to 1990.`; None if the past of no template is known."""
        template = self._past_template(claim)
        return self._filled(template, [claim], end=f" {when}") if template else None

    def cited(self, claim: Claim, month: str) -> Sentence | None:
        """`According to a profile of January 2019, the head coach of Lyon was Bruno Génésio.`"""
        if not (template := self._past_template(claim)):
            return None
        return self._filled(dated(template, f"According to a profile of {month}, "), [claim])

    def _past_template(self, claim: Claim) -> str | None:
        """The wording of the present where its past is known, else the next wording."""
        for text in self._drawn(self.templates.get(claim.relation, ()), claim):
            past = self.grammar.past(self._in_number(text, claim.subject))
            if self.grammar.is_past(past) and not past.endswith(f", {OBJECT}"):
                return past
        return None

    def _in_number(self, template: str, subject: int) -> str:
        return self.grammar.plural(template) if self.names[subject].usage.plural else template

    def _drawn(self, texts: Sequence[str], claim: Claim) -> Sequence[str]:
        """Wordings, from the drawn wording on."""
        chance = int(row_id(str(self.seed), entity_id(claim.subject), property_id(claim.relation)), 16)
        start = chance % max(len(texts), 1)
        return [*texts[start:], *texts[:start]]

    def _filled(self, template: str, claims: Sequence[Claim], blank: str = "", end: str = "") -> Sentence:
        name = self.names[claims[0].subject]
        if not blank:
            articles = self.grammar.article_before_object(template)
            values = [self.names[claim.value] for claim in claims]
            blank = _listed([written(v.label, v.usage) if articles else v.label for v in values])
        # The template has the subject's number already.
        text = cloze(template, name.label, name.usage._replace(plural=False), self.grammar, blank=blank)
        return Sentence(f"{text}{end}".removesuffix(".") + ".", tuple(claims))


def indefinite(label: str) -> str:
    """`a human`, `an album`, `one of the Olympic Games`: a class in a sentence."""
    if _PLURAL.fullmatch(_HEAD.split(label)[0]):
        return f"one of the {label}"
    return f"{'an' if _AN.match(label) and not label.startswith(('Eu', 'one')) else 'a'} {label}"


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if names[:-1] else names)


def known_at(rows: Sequence[Row], dump: str) -> list[Row]:
    """K_k: the rows that were known by a dump."""
    begun = (row for row in rows if row["known_from"] <= dump)
    return [row for row in begun if row["known_until"] is None or dump < row["known_until"]]


def holding(rows: Sequence[Row], day: int) -> list[Row]:
    """The rows of K_k whose value is an item and is certain on a day, a row a value."""
    values: dict[int, Row] = {}
    for row in rows:
        first = row["certain_first"]
        if row["value"] and first is not None and first <= day <= row["certain_last"]:
            values.setdefault(row["value"], row)
    return [values[value] for value in sorted(values)]


def years(row: Row) -> str | None:
    """`from 2005 to 2021`, `in 2005`, `until 2021`; None if the year in which a value ceased is not known."""
    end, begin = row["certain_last"] // 10_000, row["certain_first"] // 10_000
    if row["possible_last"] is None or row["possible_last"] // 10_000 != end or end <= 0:
        return None
    if row["possible_first"] is None or row["possible_first"] // 10_000 != begin or begin <= 0:
        return f"until {end}"
    return f"in {end}" if begin == end else f"from {begin} to {end}"


class Frame(NamedTuple):
    """What all documents share: the dumps, the order of relations, and whether they tell the past."""

    dumps: Sequence[str]
    days: Sequence[int]
    order: Mapping[int, int]
    history: bool


def versions(
    subject: int, claims: Claims, writer: Writer, frame: Frame, citations: Sequence[tuple[int, Sentence]]
) -> Iterator[tuple[int, int | None, list[Sentence]]]:
    """Yields the versions of a document: the first dump with it, the first later dump without it, sentences.

    `claims`: those of the subject; `citations`: dump from which the document quotes another's state, and how.
    """
    rooms: dict[int, list[list[Sentence]]] = {}
    words = 0
    # Relations with an update come first where not all have room.
    for _, _, relation in sorted(
        (rows[0]["linked_from"] is None, frame.order[relation], relation)
        for relation, rows in claims.items()
        if writer.says(relation)
    ):
        by_dump = list(_of_relation(subject, relation, claims[relation], writer, frame))
        length = max(sum(sentence.words for sentence in group) for group in by_dump)
        if words + length <= MOST_WORDS:
            words += length
            rooms[relation] = by_dump
    order = sorted(rooms, key=lambda relation: frame.order[relation])
    texts: list[list[Sentence] | None] = []
    for dump in range(len(frame.dumps)):
        own = [sentence for relation in order for sentence in rooms[relation][dump]]
        texts.append(own and [*own, *(sentence for since, sentence in citations if since <= dump)])
    begin = 0
    for dump, (sentences, after) in enumerate(zip(texts, [*texts[1:], None], strict=True), start=1):
        if after is not None and [s.text for s in sentences or ()] == [s.text for s in after]:
            continue
        if sentences:
            yield begin, None if after is None else dump, texts[begin] or []
        begin = dump


def _of_relation(
    subject: int, relation: int, rows: Sequence[Row], writer: Writer, frame: Frame
) -> Iterator[list[Sentence]]:
    """Yields the sentences about a subject and relation in the version of every dump."""
    known = [known_at(rows, dump) for dump in frame.dumps]
    present = [
        [row for row in holding(timeline, day) if row["value"] in writer.names and row["value"] != subject]
        for timeline, day in zip(known, frame.days, strict=True)
    ]
    several = max(map(len, present)) > 1
    for timeline, now, day in zip(known, present, frame.days, strict=True):
        sentences = []
        if now:
            stated = ((row["value"], row["statement"]) for row in now)
            claims = [Claim(subject, relation, *value, "now", day, day) for value in stated]
            sentences.append(writer.present(claims, several))
        ended = [row for row in timeline if row["certain_last"] is not None and row["certain_last"] < day]
        for row in sorted(ended, key=lambda row: (row["certain_first"], row["value"] or 0)):
            if frame.history and row["value"] in writer.names and (when := years(row)):
                span = row["certain_first"], row["certain_last"]
                claim = Claim(subject, relation, row["value"], row["statement"], "then", *span)
                sentence = writer.past(claim, when)
                sentences += [sentence] if sentence else []
        yield sentences
