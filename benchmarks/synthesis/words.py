"""Names, and labels, descriptions, aliases and site links in many languages, as text made in advance.

In Wikidata most labels of an item are the same name in Latin letters, and most descriptions one of few texts
a language. Both are what makes its dumps compress ten to one.
"""

import random

from synthesis.snaks import quoted
from synthesis.vocabulary import CYRILLIC, LATIN, OTHER_SCRIPTS, WIKIS

_SPELLED = """
ka to mi ra se no vi lu ba de fo ge ha jo ki la mo ne pa ro su ta va wi za be co di fe go hu je ko
li ma na pe ri sa te vo wa ze bi ca du fi ga he ja ku lo me nu po re si tu ve wo
"""
_SYLLABLES = _SPELLED.split()
_TO_CYRILLIC = str.maketrans("abcdefghijklmnoprstuvwz", "абкдефгхижклмнопрстуввз")
_NAME, _CYRILLIC_NAME, _OTHER_NAME = "\x01", "\x02", "\x03"


def unique_name(number: int) -> str:
    """A name that no other number has: two words, the first from the number's low digits."""
    digits: list[str] = []
    while number or len(digits) < 3:
        number, digit = divmod(number, len(_SYLLABLES))
        digits.append(_SYLLABLES[digit])
    return f"{''.join(digits[:2]).capitalize()} {''.join(digits[2:]).capitalize()}ran"


def cyrillic(name: str) -> str:
    """The name in Cyrillic letters, as JSON text without quotes."""
    return quoted(name.lower().translate(_TO_CYRILLIC).title())[1:-1]


def terms_json(texts: dict[str, str]) -> str:
    """A map of labels or descriptions."""
    return (
        "{"
        + ",".join(f'"{code}":{{"language":"{code}","value":{quoted(text)}}}' for code, text in texts.items())
        + "}"
    )


class Words:
    """The texts of one world; the same for the same seed."""

    def __init__(self, seed: int, kinds: dict[int, str]) -> None:
        rng = random.Random(f"words {seed}")
        self._labels = [self._label_template(count, rng) for count in range(120) for _ in range(2)]
        self._sitelinks = [self._sitelink_template(count, rng) for count in range(len(WIKIS) + 1)]
        words = [unique_name(rng.randrange(200_000)).split()[0].lower() for _ in range(400)]
        self.descriptions = {
            kind: [self._descriptions(label, words, rng) for _ in range(60)] for kind, label in kinds.items()
        }
        self.names = [unique_name(rng.randrange(10**7)) for _ in range(20_000)]
        self.cyrillic = [cyrillic(name) for name in self.names]
        self.other = [
            quoted("".join(chr(rng.randrange(0x4E00, 0x5E00)) for _ in range(4)))[1:-1] for _ in range(4000)
        ]
        self.titles = [
            " ".join(rng.choice(words) for _ in range(rng.randrange(6, 15))).capitalize() for _ in range(8000)
        ]

    @staticmethod
    def _label_template(count: int, rng: random.Random) -> str:
        """English and `count` other languages; the first languages are the ones that most items have."""
        order = sorted(LATIN[1:] + CYRILLIC + OTHER_SCRIPTS, key=lambda code: rng.expovariate(1))
        codes = (LATIN[1:] + CYRILLIC + OTHER_SCRIPTS)[: count // 3] + order
        chosen = ["en", *sorted(list(dict.fromkeys(codes))[:count])]
        marks = {**dict.fromkeys(CYRILLIC, _CYRILLIC_NAME), **dict.fromkeys(OTHER_SCRIPTS, _OTHER_NAME)}
        listed = (f'"{code}":{{"language":"{code}","value":"{marks.get(code, _NAME)}"}}' for code in chosen)
        return "{" + ",".join(listed) + "}"

    @staticmethod
    def _sitelink_template(count: int, rng: random.Random) -> str:
        """`count` Wikipedias without the English one, each after a comma."""
        chosen = sorted(sorted(WIKIS, key=lambda wiki: rng.expovariate(1) * (1 + WIKIS.index(wiki)))[:count])
        return "".join(f',"{wiki}":{{"site":"{wiki}","title":"{_NAME}","badges":[]}}' for wiki in chosen)

    @staticmethod
    def _descriptions(label: str, words: list[str], rng: random.Random) -> str:
        count = min(int(rng.lognormvariate(3.0, 0.7)) + 1, 70)
        country = rng.choice(words).capitalize()
        others = sorted(rng.sample(LATIN[1:] + CYRILLIC + OTHER_SCRIPTS, count - 1))
        texts = {"en": f"{label} in {country}"}
        for code in others:
            texts[code] = f"{words[sum(map(ord, code + label)) % len(words)]} {country} ({code})"
        return terms_json(texts)

    def labels(self, name: str, name_cyrillic: str, name_other: str, languages: int) -> str:
        """The map of labels in English and so many languages more (119 at most)."""
        template = self._labels[min(2 * languages + len(name) % 2, len(self._labels) - 1)]
        filled = template.replace(_NAME, name)
        return filled.replace(_CYRILLIC_NAME, name_cyrillic).replace(_OTHER_NAME, name_other)

    def sitelinks(self, name: str, wikis: int, article: bool) -> str:
        """The map of site links: so many Wikipedias, and the English one."""
        listed = self._sitelinks[min(wikis, len(WIKIS))].replace(_NAME, name)
        if article:
            listed = f',"enwiki":{{"site":"enwiki","title":"{name}","badges":[]}}' + listed
        return "{" + listed[1:] + "}"
