"""Names in sentences, against a slow plain search."""

import re
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factdrift.words.mentions import folded, mentions, name_key


def found(sentence: str, name: str) -> list[str]:
    """The parts of the sentence as it was written that are mentions of the name."""
    line = folded(sentence)
    return [sentence[line.indices[a] : line.indices[b]] for a, b in mentions(line.text, name_key(name))]


@pytest.mark.parametrize(
    ("sentence", "name", "wanted"),
    [
        ("OSLO and Oslo.", "Oslo", ["OSLO", "Oslo"]),
        ("Élisabeth, ELISABETH, E\u0301lisabeth", "Elisabeth", ["Élisabeth", "ELISABETH", "E\u0301lisabeth"]),
        ("Lech Walesa", "Lech Wałęsa", ["Lech Walesa"]),
        ("Gross und Groß", "Groß", ["Gross", "Groß"]),
        ("(Oslo) [Oslo] \"Oslo\" 'Oslo' «Oslo»", "Oslo", ["Oslo"] * 5),
        ("Oslo's mayor and James’ house", "Oslo", ["Oslo"]),
        ("Oslo's mayor and James’ house", "James", ["James"]),
        ("Oslo-based, non-Oslo, OsloX, d'Oslo, Oslo.no", "Oslo", []),
        ("a.b and axb", "a.b", ["a.b"]),
        ("C++ and C and C#", "C", ["C"]),
        ("C++ and C and C#", "C++", ["C++"]),
        ("$5 and 5 and 5,000", "5", ["5"]),
        ("[a-z]* (x|y) \\d+", "[a-z]*", ["[a-z]*"]),
        ("New\u00a0York  City", "New York City", ["New\u00a0York  City"]),
        ("ola la la", "la la", ["la la"]),
        ("anything", "", []),
    ],
)
def test_whole_words_only(sentence: str, name: str, wanted: list[str]) -> None:
    assert found(sentence, name) == wanted


@given(st.lists(st.sampled_from(["A", "`", " ", "  ", "\n", "\x1c"])).map("".join))
def test_blanks_of_all_kinds_are_one(text: str) -> None:
    assert folded(text).text == re.sub(r"\s+", " ", text.replace("`", "'")).lower()
    assert len(folded(text).indices) == len(folded(text).text) + 1


def plainly(word: str) -> str:
    """A word without case and marks, in another way than `folded` does it."""
    return "".join(c for c in unicodedata.normalize("NFD", word.lower()) if not unicodedata.combining(c))


words = st.text(alphabet="abcxyzéüÅ0123", min_size=1, max_size=3)
signs = st.tuples(st.sampled_from(["", "(", '"', "'"]), st.sampled_from(["", ".", ",", "'s", ")", '"', "?"]))


sentences = st.lists(st.tuples(words, signs), min_size=1, max_size=8)


@given(sentences, st.integers(0, 7), st.integers(1, 2), st.booleans())
def test_as_a_comparison_word_by_word(parts, first, length, shout):
    name = [word for word, _ in parts[first % len(parts) :][:length]]
    wanted = place = 0
    while place + len(name) <= len(parts):
        window = parts[place : place + len(name)]
        same = [plainly(word) for word, _ in window] == [plainly(word) for word in name]
        # Within a name nothing but the blank stands between the words.
        apart = any(a[1] or b[0] for (_, a), (_, b) in pairwise(window))
        wanted += same and not apart
        place += len(name) if same and not apart else 1
    sentence = " ".join(f"{before}{word}{after}" for word, (before, after) in parts)
    asked = " ".join(name)
    assert len(found(sentence, asked.upper() if shout else asked)) == wanted


@given(st.text(max_size=40))
def test_places_lead_back_to_the_text(text: str) -> None:
    line = folded(text)
    assert len(line.indices) == len(line.text) + 1
    assert line.indices == sorted(line.indices)
    assert line.indices[-1] == len(text)
    assert "  " not in line.text
    assert folded(line.text).text == line.text
