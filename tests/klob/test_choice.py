"""Quotas and shares, against a search of all sizes; random words; word lists."""

import hashlib
import random
import re
import string
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.examples import examples

from factdrift.core.errors import InputError
from factdrift.core.tables import database
from factdrift.klob.choice import choose_chains, choose_facts, largest_output
from factdrift.klob.facts import CANDIDATES
from factdrift.klob.random_words import WordSource, pool, random_sentences, read_words, stratified


@given(
    st.lists(st.integers(1, 40), max_size=15),
    st.integers(0, 200),
    st.sampled_from([1.0, 0.5, 0.3, 0.25, 0.1, 0.07]),
)
# 0.1 * 30 is more than 3 in binary fractions, 0.29 * 100 less than 29.
@example([3] * 10, 30, 0.1)
@example([29] * 4, 100, 0.29)
def test_largest_output_is_the_largest_that_keeps_the_share(sizes, quota, share):
    size, most = largest_output(sizes, quota, share)

    def fits(number: int) -> bool:
        return sum(min(count, int(number * round(share * 100) // 100)) for count in sizes) >= number

    assert size == max(number for number in range(quota + 1) if fits(number))
    assert most == size * round(share * 100) // 100


def candidates_of(db: duckdb.DuckDBPyConnection, rows: Sequence[tuple[int | None, ...]]) -> str:
    """SQL: candidates (s, p1, o1, p2, o2, draw) of which none is dropped."""
    table = [dict(zip(CANDIDATES.names, (*row, None), strict=True)) for row in rows]
    db.register("given", pa.Table.from_pylist(table, schema=CANDIDATES))
    return "SELECT * FROM given"


FACTS = st.lists(st.tuples(st.sampled_from([17, 36]), st.integers(1, 6)), max_size=40)
SHARES = st.sampled_from([1.0, 0.5, 0.25])


@settings(max_examples=examples(60))
@given(FACTS, st.sampled_from([None, 0, 5, 12]), SHARES)
def test_no_answer_has_more_than_its_share_of_a_relation(facts, quota, share):
    with database() as db:
        rows = [(s, p, o, None, None, s * 7 % 41) for s, (p, o) in enumerate(facts)]
        drops = choose_facts(db, candidates_of(db, rows), {17: quota, 36: quota}, share)
        chosen = db.sql("SELECT s, p1, o1, draw FROM chosen_facts").fetchall()
    for relation in (17, 36):
        answers = Counter(o for p, o in facts if p == relation)
        mine = [row for row in chosen if row[1] == relation]
        size, most = largest_output(
            list(answers.values()), sum(answers.values()) if quota is None else quota, share
        )
        taken: Counter[int] = Counter()
        expected = []
        for s, p, o, _, _, draw in sorted(rows, key=lambda row: row[5]):
            taken[o] += p == relation
            if p == relation and taken[o] <= most and len(expected) < size:
                expected.append((s, relation, o, draw))
        assert sorted(mine) == sorted(expected)
        assert all(count <= share * len(mine) for count in Counter(row[2] for row in mine).values())
        dropped = drops.get(f"P{relation}", {})
        assert sum(dropped.values()) == sum(answers.values()) - len(mine)
        assert (share < 1) or "answer_share" not in dropped


CHAINS = st.lists(
    st.tuples(st.sampled_from([17, 19, 26]), st.sampled_from([36, 37]), st.integers(1, 4)), max_size=60
)


@settings(max_examples=examples(80))
@given(CHAINS, st.sampled_from([0, 7, 20, 100]), st.sampled_from([1.0, 0.5, 0.25]), SHARES)
def test_no_pair_and_no_end_of_a_chain_has_more_than_its_share(chains, quota, pair_share, answer_share):
    with database() as db:
        rows = [(s, p1, 99, p2, o2, s * 7 % 61) for s, (p1, p2, o2) in enumerate(chains)]
        drops = choose_chains(db, candidates_of(db, rows), quota, pair_share, answer_share)
        chosen = db.sql("SELECT p1, p2, o2 FROM chosen_chains").fetchall()
    pairs = Counter((p1, p2) for p1, p2, _ in chosen)
    ends = Counter(chosen)
    assert len(chosen) <= quota
    assert all(count <= pair_share * len(chosen) for count in pairs.values())
    assert all(count <= answer_share * pairs[key[:2]] for key, count in ends.items())
    assert sum(sum(reasons.values()) for reasons in drops.values()) == len(chains) - len(chosen)
    assert all(number > 0 for reasons in drops.values() for number in reasons.values())
    if answer_share == 1:
        of_pairs = [*Counter(row[:2] for row in chains).values()]
        assert len(chosen) == largest_output(of_pairs, quota, pair_share)[0]


def test_relations_with_too_few_answers_and_pairs_with_too_large_shares_are_named(capsys):
    with database() as db:
        rows = [(s, 17, 5 + s % 3, None, None, s) for s in range(9)]
        assert choose_facts(db, candidates_of(db, rows), {17: None}, 0.25) == {"P17": {"answer_share": 9}}
    assert "klob.max_answer_share: no answer may have more than 0.25" in capsys.readouterr().out
    with database() as db:
        rows = [(1, relation, 2, 36, 3 + n, n) for n in range(2) for relation in (17, 19, 26)]
        chains = candidates_of(db, rows)
        assert choose_chains(db, chains, 9, 1) == {}
        reasons = {"pair_share": 2}
        assert choose_chains(db, chains, 9, 0.33) == dict.fromkeys(("P17>P36", "P19>P36", "P26>P36"), reasons)
        choose_chains(db, chains, 2, 0.34)
        told = re.findall(r"only 3 pairs.*, at most (\d).*to (\S+) or", capsys.readouterr().out)
        assert told == [("6", "0.34"), ("2", "0.50")]
        # As it says.
        for quota, share in ((9, 0.34), (2, 0.5)):
            choose_chains(db, chains, quota, share)
            assert db.sql("FROM chosen_chains").fetchall()
        # Here no share of the pairs would help.
        choose_chains(db, chains, 9, 0.1, 0.1)
    assert "max_pair_share" not in capsys.readouterr().out


def test_random_sentences_follow_the_generator():
    words = [f"w{number}" for number in range(50)]
    sources = [WordSource(f"{number:016x}", 3 + number % 5) for number in range(40)]
    written = dict(random_sentences(sources, words, 7))
    assert list(written) == sources
    assert len(set(written.values())) == 40
    for source, text in written.items():
        assert len(text.split(" ")) == source.tokens - 1
        assert set(text.split(" ")) <= set(words)
    draw = random.Random(f"7:{sources[0].sentence_id}:0")
    assert written[sources[0]] == " ".join(draw.choices(words, k=2))
    short = [WordSource(f"{number:016x}", 2) for number in range(4)]
    # A line that is there already is drawn again, as long as the words allow others.
    assert sorted(text for _, text in random_sentences(short, ["a", "b", "c", "d"], 0)) == [*"abcd"]
    with pytest.raises(InputError, match="2 words are too few"):
        list(random_sentences(short, ["a", "b"], 0))


@settings(max_examples=examples(60))
@given(st.lists(st.integers(2, 12), max_size=60), st.integers(0, 70), st.integers(0, 3))
def test_a_sample_keeps_the_histogram(lengths, size, seed):
    sources = [WordSource(f"{place:016x}", tokens) for place, tokens in enumerate(lengths)]
    drawn = stratified(sources, size, seed)
    assert len(drawn) == min(size, len(sources))
    assert drawn == sorted(set(drawn))
    assert set(drawn) <= set(sources)
    whole, part = Counter(lengths), Counter(source.tokens for source in drawn)
    for tokens, count in whole.items():
        exact = count * min(size, len(sources)) / len(sources)
        assert abs(part[tokens] - exact) < 1
    assert stratified(list(reversed(sources)), size, seed) == drawn or size >= len(sources)


def test_web2_is_pinned():
    words = read_words("web2")
    assert (words.name, len(words.entries)) == ("web2", 235_970)
    assert len(pool(words)) == 235_970 + 32


def nltk_folder(root: Path, entries: int = 235_886, basic: int = 850) -> Path:
    folder = root / "corpora" / "words"
    folder.mkdir(parents=True)
    (folder / "en").write_text("".join(f"w{number}\n" for number in range(entries)), encoding="utf-8")
    # The basic words stand in the long list too.
    (folder / "en-basic").write_text("".join(f"w{number}\n" for number in range(basic)), encoding="utf-8")
    return folder


def test_the_nltk_list_by_its_data_path_none_and_another_one(tmp_path, monkeypatch):
    """NLTK looks for its data in folders of the test only, and reads its corpus anew in each."""
    import nltk.corpus
    import nltk.data

    def look_in(folder: str) -> Path:
        monkeypatch.setattr(nltk.data, "path", [str(tmp_path / folder)])
        lazy, reader = nltk.corpus.util.LazyCorpusLoader, nltk.corpus.reader.WordListCorpusReader
        monkeypatch.setattr(nltk.corpus, "words", lazy("words", reader, r"(?!README|\.).*"))
        return tmp_path / folder

    for folder in ("none", "packed"):
        (look_in(folder) / "corpora").mkdir(parents=True)
        if folder == "packed":
            (tmp_path / "packed/corpora/words.zip").write_bytes(b"PK")
        with pytest.raises(InputError, match=r"python -m nltk\.downloader words"):
            read_words("nltk")
    nltk_folder(look_in("other"), entries=100, basic=10)
    with pytest.raises(InputError, match="110 entries instead of 236,736"):
        read_words("nltk")
    folder = nltk_folder(look_in("whole"))
    words = read_words("nltk")
    assert (words.name, len(words.entries), words.source) == ("nltk", 236_736, "NLTK's corpus words")
    assert len(pool(words)) == 235_886 + 32
    sha256 = hashlib.sha256((folder / "en").read_bytes() + (folder / "en-basic").read_bytes()).hexdigest()
    assert words.sha256 == sha256
    assert words.entries[-1] == "w849"
    with pytest.raises(InputError, match=f"has the SHA-256 {sha256}, not {'0' * 64}"):
        read_words("nltk", "0" * 64)


def test_a_file_of_words(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("Zoë\nant\n\n  ant \n", encoding="utf-8")
    words = read_words(str(path))
    assert list(words.entries) == ["Zoë", "ant", "ant"]
    assert pool(words) == sorted({*string.punctuation, "Zoë", "ant"})
    with pytest.raises(InputError, match="is no file"):
        read_words(str(tmp_path / "none"))
    for content, said in ((b"ant\nNew York\n", "line 2: 'New York' is more than one"), (b"\xe9\n", "line 1")):
        path.write_bytes(content)
        with pytest.raises(InputError, match=rf"words\.txt, {said}"):
            read_words(str(path))
