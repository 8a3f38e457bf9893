"""Letters before options: how options are listed and ordered, and which one a model has chosen.

A wrong letter is worse than none, so only what a reader would be sure of is read. An answer that is stated
("The answer is B", "B is right", "I choose B", a boxed B, a letter with which the text begins) comes first;
else the only letter that stands alone counts. The article A, the pronoun I, letters of names ("Serie B",
"C. S. Lewis", "F.C."), denied ones ("not A"), and what others would say are no answer.
"""

import random
import re
import unicodedata
from collections.abc import Iterator, Sequence
from string import ascii_uppercase
from typing import NamedTuple

from factdrift.words.reasoning import answer_of

LETTERS = ascii_uppercase

_FIRST = 0xE000
"""Of the private characters that stand for the texts of options, the first."""
_TEXT = f"[{chr(_FIRST)}-{chr(_FIRST + len(LETTERS) - 1)}]"

_LOOKS = dict(zip("АВСЕНКМОРТХІЅЈΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "ABCEHKMOPTXISJABEZHIKMNOPTYX", strict=True)) | {
    chr(block + number): letter
    for block in (0x1F150, 0x1F170, 0x1F1E6)
    for number, letter in enumerate(LETTERS)
}
"""Cyrillic and Greek letters that look like ours, and letters in discs, squares and flags -> ours."""

_LAYOUT = [
    (re.compile(r"\n\s*(?:question|frage|q|user|human)\s*\d*:.*", re.I | re.S), ""),
    (re.compile(r"~~[^~\n]*~~"), ""),
    (re.compile(r"<\w*answer>|\\boxed|\\fbox", re.I), " answer: "),
    (re.compile(r"\\(?:text|math)[a-z]*|<\|\w+\|>|\\[()\[\]]|</?(?:\w{2,}|(?-i:[a-z]))/?>", re.I), " "),
    (re.compile(r"[‘’`´]"), "'"),
    (re.compile(r"(?<![^\W_])'|'(?![^\W_])|[*$>\"“”„«»{}]|^\s*#+ ", re.M), ""),
    (re.compile(r"_"), " "),
]
"""What ends an answer, what a model that goes on writing asks next, and what only lays a text out."""

_SMALL = re.compile(
    r"^\W*[a-z](?=\W*$|[).:] )|^\W*\([a-z]\)"
    r"|(?i:\b(?:answer|option|choice|letter|pick|choose|select)(?: is|\s*:)?\s*\(?)"
    r"[a-z](?=\s*(?:[.,;:)\n]|$))"
)
"""A small letter that can be nothing but an answer."""


def _pattern(text: str, flags: re.RegexFlag = re.I) -> re.Pattern[str]:
    """A pattern in which `«a b c_d»` is any of these words (`_`: a blank) and TEXT an option's text."""
    text = re.sub(
        r"«([^»]*)»", lambda match: rf"\b(?:{'|'.join(match[1].split()).replace('_', ' ')})\b", text
    )
    return re.compile(text.replace("TEXT", _TEXT), flags)


_LETTER = (
    r"(?<![\w&.'°])(?<![A-Z]-)(?<!\b[DM]r\. )(?<!\b[A-Z]\. (?=[A-Z]\.))[A-Z]"
    r"(?![\w&+#']|-\w|\.[A-Z]\b|\. (?:[A-Z](?:\.|$)|[a-z]))"
)
_UNIT = (
    rf"[(\[]?{_LETTER}(?:[)\].:]{{0,2}}\s?-?\s?TEXT)?[)\]]?"
    r"(?:\s*\([^()\n]*\d{4}\)|\s+«in since until from»\s+\d{4})?"
)
_NAMED = _pattern(
    rf"{_UNIT}(?:(?:\s*[,;/|&+→–]\s*(?:«maybe perhaps and or und oder et ou y o»\s+)?"
    rf"|\s+«and or und oder et ou nor ni y o vs»\s+|\n(?=[A-Z]\s*(?:\n|$))){_UNIT})*",
    re.NOFLAG,
)
"""A letter, or several that are named together, each perhaps with the text of its option."""
_NO_LETTER = _pattern(
    r"[^\S\n]+(?!«explanation reason reasoning justification rationale»:"
    r"|«because since as is seems looks fits and or but with for in here not rather over due"
    r" given ist est»)\w"
)
"""A word behind an article or a pronoun: what A or I is before it."""
_STATING = _pattern(
    r"(?:«answers? choice option pick guess solution letter right_one correct_one antwort lösung richtig"
    r" réponse respuesta risposta resposta opción opção opzione»[^.!;,\n]{0,60}?"
    r"(?:«is was are be ist lautet est es é è»|'s|[:=→-])"
    r"|«I we ich je let.?s»[^.!?;,\n]{0,30}?«choose pick select go_with going_with go_for opt_for vote_for"
    r" say guess think believe answer wähle nehme choisis dirais»(?: (?:it|that)(?:'s| is| would be)?)?"
    r"|«chooses? picks? selects? elijo escojo scelgo c'est es_ist»"
    r"|\b(?:it|that|this)(?:'s| is| (?:must|should|would|has to) be)"
    r"|«no wait actually rather instead sorry correction but sondern mais sino»[\s,:.!–-]*)"
    r"(?:[\s(\[:]|«the a la le die el option opción opzione letter choice answer lettre buchstabe most likely"
    r" probably clearly now definitely simply therefore thus hence either both be is in it»)*$"
)
"""Words before an answer that is stated."""
_RIGHT = _pattern(
    r"\s*[:–-]\s*«yes right correct true richtig»"
    r"|[)\]]?\s*«is seems looks must_be ist est es»(?: «to_be clearly indeed therefore»)?"
    r"(?: «the my die la le»)?(?: «most best»)? «right correct true answer best likely option choice"
    r" richtige? korrekt correcte? correcta juste bonne»"
)
"""Words behind an answer that is stated."""
_DENIED_BEFORE = _pattern(
    r"(?:n't\b|\b(?:any|every|all)\w*\b[^.;!?\n]* but\b|«refuse_to used_to_be not nor neither none_of cannot"
    r" except nicht keine? pas ruled?_out exclud\w+ eliminat\w+ instead_of rather_than than over unlike»)"
    r"(?:[^\w.!?;\n]|«option answer letter choice the be is in choose pick say it which either»)*$"
    r"|(?:n't|«not cannot doubt nicht»)(?: (?!(?:but|so|sondern|rather|because|\w)\b)[\w']+){1,4} \(?$"
)
_DENIED_BEHIND = _pattern(
    r"\s*[❌✗✘]|\s*[:–-]\s*«no wrong incorrect false falsch»|[)\]]?(?: (?!right|correct)\w+){0,3}? ?"
    r"(?:n't\b|«not cannot wrong incorrect false falsch out excluded impossible nicht faux fausse"
    r" eliminated invalid unlikely»)"
)
_REPORTED = _pattern(
    r"«some many people others tempt\w+ first_thought»[^.;:!?,\n]*$"
    r"|«if whether unless wenn ob»(?! «I we you ich wir»)[^.;:!?\n]*$"
)
_ALONE = _pattern(
    r"(?:^|[^\w\s']|TEXT(?: is)?|\n|«option answer letter choice antwort réponse so thus hence therefore then"
    r" maybe perhaps yes either both by with leaves is now definitely clearly certainly probably surely"
    r" obviously likely possibly finally»)\s*$"
)
_IS_TEXT = _pattern(r"^ is (TEXT)")
_OF_TEXT = _pattern(r"(TEXT)(?:,? which)?(?: is)?[:,]? ?[(\[]?$")
_BOUND = _pattern(r"\s*(?:$|[^\w\s]|\n)|\s+«because since»|\s+TEXT")
_BEGIN = _pattern(r"\W*(?:«option answer letter choice»\W+)?")
_CORRECTED = _pattern(
    r"«no wait actually rather instead sorry correction but however so thus hence therefore final\w* now"
    r" reconsider\w* second_thoughts?»"
)
_NEAR = 200
"""Characters before a letter that are read for what they say of it."""


def listed(options: Sequence[str]) -> str:
    """The options with their letters, one a line: `A. Paris`. Raises ValueError for more than 26."""
    pairs = zip(LETTERS[: len(options)], options, strict=True)
    return "\n".join(f"{letter}. {option}" for letter, option in pairs)


def orders(number: int, key: str) -> list[list[int]]:
    """Two orders of the places of options, drawn by a key, in which each option has another letter.

    The second is the first one rotated by half of its length. So a model that always gives the same letter
    never chooses the same option twice, whatever the number of options (from two on).
    """
    places = list(range(number))
    random.Random(key).shuffle(places)
    return [places, places[number // 2 :] + places[: number // 2]]


def chosen(output: str, options: Sequence[str]) -> int | None:
    """The index of the option whose letter a model has chosen in its output; None if there is none.

    Reasoning is left out. Of two stated answers the later one counts if a word between them
    corrects the former; else there is none. Several letters, an option's text without its letter, a letter
    with the text of another option, and one that no option has are none. Letters in full width, those of
    other alphabets that look like ours, and small ones where nothing else can be meant, are read.
    """
    texts = [_plain(text) for text in options]
    output = _plain(answer_of(output))
    if re.search(r"\w\w", output) and any(text.lower().startswith(output.lower()) for text in texts):
        return None
    output = re.sub(rf"^A:(?=\s+[^\s{_TEXT[1:]})", "answer:", _masked(output, texts))
    output = _SMALL.sub(lambda match: match[0][:-1] + match[0][-1].upper(), output)
    mentions = [*_mentions(output, LETTERS[: len(options)])]
    labels = {mention.letters for mention in mentions if mention.labels}
    if len(labels) > 1:  # The options are repeated, or discussed one by one.
        mentions = [mention for mention in mentions if not mention.labels]
    stated = [mention for mention in mentions if mention.stated and len(mention.letters) == 1]
    letters = {mention.letters for mention in stated or mentions}
    if len(letters) > 1 and stated:
        letters = _corrected(output, stated)
    letter = letters.pop() if len(letters) == 1 else ""
    number = LETTERS.find(letter) if len(letter) == 1 else -1
    return number if 0 <= number < len(options) else None


class _Mention(NamedTuple):
    """Letters that are named together at a place of a text; `labels`: as the label of the option's text."""

    letters: str
    start: int
    end: int
    stated: bool
    labels: bool


def _mentions(text: str, known: str) -> Iterator[_Mention]:
    """The letters that a text names as what may be chosen; others than `known` only if stated."""
    for match in _NAMED.finditer(text):
        if match[0][-1] in "AEIOUY" and _NO_LETTER.match(text, match.end()):
            shorter = _NAMED.match(text, match.start(), match.end() - 1)
            if shorter is None:
                continue
            match = shorter
        before, behind = text[max(0, match.start() - _NEAR) : match.start()], text[match.end() :]
        letters = "".join(dict.fromkeys(re.findall(_LETTER, match[0])))
        right = _RIGHT.match(behind)
        if _DENIED_BEFORE.search(before) or _REPORTED.search(before):
            continue
        if _DENIED_BEHIND.match(behind) and not right:
            continue
        if re.match(r"[^.!\n]*\?.*\w", behind, re.S):  # A question that is answered behind it.
            continue
        own = re.findall(_TEXT, match[0]) or _IS_TEXT.findall(behind) or _OF_TEXT.findall(before)
        if own and len(letters) == 1 and ord(own[0]) - _FIRST != LETTERS.index(letters):
            continue  # The name of somebody, or the letter of another option.
        first = bool(_BEGIN.fullmatch(text, 0, match.start()) and _BOUND.match(behind))
        stated = bool(right or _STATING.search(before))
        alone = _ALONE.search(before) and (_BOUND.match(behind) or re.match(r" [a-z]", behind))
        if stated or ((first or alone) and set(letters) <= set(known)):
            yield _Mention(letters, match.start(), match.end(), first or stated, bool(own) and not stated)


def _corrected(text: str, stated: Sequence[_Mention]) -> set[str]:
    """The letters that are left of different ones: the later one if a word before it corrects the former."""
    kept = stated[0]
    letters = {kept.letters}
    for mention in stated[1:]:
        if _CORRECTED.search(text[kept.end : mention.start]):
            kept, letters = mention, {mention.letters}
        else:
            letters.add(mention.letters)
    return letters


def _masked(text: str, options: Sequence[str]) -> str:
    """The text with a private character in the place of each option's text, or of its own last word."""
    names: dict[str, int] = {}
    for number, option in enumerate(options):
        last = re.findall(r"[^\W\d_]{3,}$", option)
        alone = [word for word in last if sum(word in other for other in options) == 1]
        names = {name.lower().rstrip("."): number for name in (option, *alone) if len(name) > 1} | names
    if not names:
        return text
    longest = sorted(names, key=len, reverse=True)
    dotted = {option.lower().rstrip(".") for option in options if option.endswith(".")}
    pattern = "|".join(re.escape(name) + (r"\.?" if name in dotted else "") for name in longest)
    return re.sub(
        rf"(?<!\w)(?:{pattern})(?!\w)",
        lambda match: chr(_FIRST + names[match[0].lower().rstrip(".")]),
        text,
        flags=re.I,
    )


def _plain(text: str) -> str:
    """A text in which letters of other forms are plain, without marks and what is asked next."""
    text = unicodedata.normalize("NFKC", text)
    text = re.sub(rf"(?<!\w)[{''.join(_LOOKS)}](?!\w)", lambda match: _LOOKS[match[0]], text)
    for pattern, instead in _LAYOUT:
        text = pattern.sub(instead, text)
    return text.strip()
