"""KLoB-u: sentences of random words, as long as those of KLoB-c and KLoB-r.

The words are those of the list "web2", of NLTK's corpus `words`, or of a user's list, checked by its hash.
"""

import hashlib
import random
import string
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from zipfile import BadZipFile

from factdrift.core.errors import InputError
from factdrift.core.files import utf8_lines
from factdrift.core.paths import KLOB
from factdrift.core.tables import rows_of

ATTEMPTS = 1000
"""The most draws for one sentence; then the pool is too small for different sentences."""

PINS = ("name", "entries", "sha256", "source")
NLTK_FILES = ("en", "en-basic")
"""The files of NLTK's corpus `words`."""


class WordSource(NamedTuple):
    """A sentence whose length is copied; `tokens`: its words, of which the blank `_` is one."""

    sentence_id: str
    tokens: int


def random_sentences(
    sources: Iterable[WordSource], pool: Sequence[str], seed: int
) -> Iterator[tuple[WordSource, str]]:
    """Yields the sources in their order, with a text of `tokens - 1` entries of the pool.

    All texts are different. Raises InputError if the pool has too few words for that.
    """
    written: set[str] = set()
    for source in sources:
        for attempt in range(ATTEMPTS):
            draw = random.Random(f"{seed}:{source.sentence_id}:{attempt}")
            text = " ".join(draw.choices(pool, k=source.tokens - 1))
            if text not in written:
                break
        else:
            raise InputError(
                f"klob.u.words: {len(pool):,} words are too few for different sentences of "
                f"{source.tokens - 1} words; give a longer list"
            )
        written.add(text)
        yield source, text


def stratified(sources: Sequence[WordSource], size: int, seed: int) -> list[WordSource]:
    """A sample of `size` sources stratified by length (largest remainder method); all if they are fewer."""
    if size >= len(sources):
        return list(sources)
    lengths = Counter(source.tokens for source in sources)
    exact = {tokens: divmod(count * size, len(sources)) for tokens, count in lengths.items()}
    kept = {tokens: whole for tokens, (whole, _) in exact.items()}
    by_remainder = sorted(exact, key=lambda tokens: (-exact[tokens][1], tokens))
    for tokens in by_remainder[: size - sum(kept.values())]:
        kept[tokens] += 1
    drawn: list[WordSource] = []
    for source in sorted(sources, key=lambda s: hashlib.sha256(f"{seed}|{s.sentence_id}".encode()).digest()):
        if kept[source.tokens]:
            kept[source.tokens] -= 1
            drawn.append(source)
    return sorted(drawn)


class WordList(NamedTuple):
    """A list's name, its entries with repetitions in their order, its SHA-256 and where it comes from."""

    name: str
    entries: Sequence[str]
    sha256: str
    source: str


def read_words(choice: str, sha256: str = "") -> WordList:
    """The list that `choice` names: `web2`, `nltk`, or a path.

    A path is a file with a word a line. The SHA-256 is that of the file's bytes; of `web2`, of its sorted
    words, a line each; of `nltk`, of the corpus's files `en` and `en-basic`, one after the other. Raises
    InputError if there is no such list, or if its hash is not `sha256` or, where that is empty, its hash and
    number of entries are not those that the table `word_lists.tsv` has for the name.
    """
    known = {name: row for _, (name, *row) in rows_of(KLOB / "word_lists.tsv", PINS)}
    if choice == "web2":
        from english_words import get_english_words_set

        words = sorted(get_english_words_set(["web2"]))
        data, source = "".join(f"{word}\n" for word in words).encode(), "the package english-words"
    elif choice == "nltk":
        data, source = _nltk(), "NLTK's corpus words"
    else:
        data, source = _file(Path(choice)), choice
    entries = [line.strip() for line in data.decode("utf-8").splitlines() if line.strip()]
    digest = hashlib.sha256(data).hexdigest()
    count, pinned, _ = known.get(choice, ("", "", ""))
    if count and len(entries) != int(count):
        raise InputError(
            f"klob.u.words: the list {choice} of {source} has {len(entries):,} entries instead of "
            f"{int(count):,}; fetch it again, or give its path instead of its name"
        )
    wanted = sha256 or pinned
    if wanted and digest != wanted:
        raise InputError(
            f"klob.u.words: {source} has the SHA-256 {digest}, not {wanted}; fetch it again, or pin "
            "its hash with klob.u.words_sha256"
        )
    return WordList(choice if choice in known else "file", entries, digest, source)


def pool(words: WordList) -> list[str]:
    """The different entries and the ASCII punctuation characters, sorted by code point."""
    return sorted({*words.entries, *string.punctuation})


def _nltk() -> bytes:
    from nltk.corpus import words

    try:
        return "".join(words.raw(name) for name in NLTK_FILES).encode()
    except (LookupError, OSError, BadZipFile) as error:
        raise InputError(
            "klob.u.words: NLTK's corpus `words` is not installed, or damaged "
            f"({str(error).strip().splitlines()[0].strip('* ') or type(error).__name__}); fetch it with "
            "`python -m nltk.downloader words`, or set `klob.u.words: web2`"
        ) from None


def _file(path: Path) -> bytes:
    if not path.is_file():
        raise InputError(f"klob.u.words: {path} is no file; give nltk, web2, or the path of a word list")
    for number, line in enumerate(utf8_lines(path), start=1):
        if len(line.split()) > 1:
            raise InputError(
                f"klob.u.words: {path}, line {number}: {line!r} is more than one word; write one a line, "
                "because sentences have a number of words"
            )
    return path.read_bytes()
