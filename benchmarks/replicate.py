"""A dump of any size from the items of a small one, under other ids: what reading is measured on.

Every item is copied again and again; a given share of the copies loses its English article, as most items of
Wikidata have none. Properties are written once. Nothing but the size and that share is realistic about it.

    python benchmarks/replicate.py --text-mb 500 -o dump.json.gz tests/data/real-excerpt.json.bz2
"""

import argparse
import json
import random
import re
from pathlib import Path

from factdrift.snapshots.compression import dump_writer, php_json
from factdrift.wikidata.shares import Share

_ITEM = re.compile(rb'\{"type":"item","id":"Q(\d+)"')
_FIRST_ID = 200_000_000

_Item = tuple[bytes, bytes]
"""Text, and digits of the id."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("sources", type=Path, nargs="+", help="dumps whose items are copied")
    parser.add_argument("--text-mb", type=float, default=500, help="megabytes of text (default %(default)s)")
    parser.add_argument("--article-share", type=float, default=0.08, help="items with an English article")
    parser.add_argument("--class-share", type=float, default=0.04, help="items with superclasses (P279)")
    parser.add_argument("--max-kb", type=float, default=40, help="longest line that is copied, in kilobytes")
    parser.add_argument("--member-mb", type=float, default=64, help="megabytes of text a gzip member")
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    texts = [as_dumped(text) for source in options.sources for _, _, text in Share(source).lines()]
    properties = sorted({text for text in texts if text.startswith(b'{"type":"property"')})
    kinds: tuple[list[_Item], list[_Item]] = ([], [])
    for text in texts:
        named = _ITEM.match(text)
        if named is not None and len(text) <= options.max_kb * 1e3 and b'"sitelinks":' in text:
            kinds[b'"P279"' in text].append((text, named[1]))
    chance = random.Random(0)
    written, number = 0, _FIRST_ID
    with dump_writer(options.output, int(options.member_mb * 1e6)) as writer:
        for text in properties:
            writer.write(text)
        while written < options.text_mb * 1e6:
            text, old = chance.choice(kinds[chance.random() < options.class_share])
            text = copied(text, old, number, chance.random() < options.article_share)
            writer.write(text)
            written += len(text)
            number += 1


def as_dumped(text: bytes) -> bytes:
    """The entity as Wikidata's dumps write it: in ASCII, with slashes escaped."""
    return php_json(json.loads(text))


def copied(text: bytes, old: bytes, number: int, article: bool) -> bytes:
    """The item `old` under another number, with or without an English article."""
    text = text.replace(b'"id":"Q%s"' % old, b'"id":"Q%d"' % number, 1)
    for letter in (b"Q", b"q"):  # old statements have a small one
        text = text.replace(b'"id":"%s%s$' % (letter, old), b'"id":"%s%d$' % (letter, number))
    if not article:
        return text.replace(b'"enwiki"', b'"enwikinews"')
    if b'"enwiki"' in text:
        return text
    site = b'"enwiki":{"site":"enwiki","title":"Article %d","badges":[]}' % number
    head, key, tail = text.rpartition(b'"sitelinks":')
    if tail.startswith((b"[]", b"{}")):
        return head + key + b"{" + site + b"}" + tail[2:]
    return head + key + b"{" + site + b"," + tail[1:]


if __name__ == "__main__":
    main()
