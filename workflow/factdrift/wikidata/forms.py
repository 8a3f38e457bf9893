"""Files that are no dump, known by their first bytes, and what to do with each."""

import json
import re
from pathlib import Path

from factdrift.core.errors import DamagedDump, InputError
from factdrift.wikidata.streams import Pieces

LOOKED_AT = 1 << 20
"""Bytes of text at the beginning of a file by which its form is known."""

_UNPACK = "unpack it, or compress it with gzip, bzip2 or zstd"
_AGAIN = "decompress it once more"
_LINES = "an entity a line is wanted"
_ARRAY = f"{_LINES}: write it anew with `jq -c '.[]'`, or `jq -c .` if it is no array"
_ENTITIES = f"{_LINES}: write it anew with `jq -c '.entities[]'`"
_DUMP = "name a JSON dump of entities (-all.json.gz)"
_ENCODING = "convert it to UTF-8, as with `iconv -f UTF-16 -t UTF-8`"

_FORMS = [
    (re.compile(pattern, re.DOTALL | re.IGNORECASE), form, remedy)
    for pattern, form, remedy in (
        (rb"\xfd7zXZ|\x5d\0\0.{2}", "an xz or lzma archive, which is not read", _UNPACK),
        (rb"PK\x03\x04", "a zip archive, which is not read", _UNPACK),
        (rb"7z\xbc\xaf", "a 7z archive, which is not read", _UNPACK),
        (rb"\x04\x22\x4d\x18|\x02\x21\x4c\x18", "an lz4 archive, which is not read", _UNPACK),
        (rb"Rar!|LZIP|\x1f[\x9d\xa0]|BZ0|\xff\x06\0\0sNaPpY", "an archive, which is not read", _UNPACK),
        (rb"[\x22-\x27]\xb5\x2f\xfd", "an archive of an old version of Zstandard", _UNPACK),
        (rb".{257}ustar", "a tar archive, which is not read", "unpack it, and name the file in it"),
        (rb"\x1f\x8b\x08|BZh[1-9]|\x28\xb5\x2f\xfd", "an archive in an archive", _AGAIN),
        (rb"\xff\xfe|\xfe\xff|[\[{\r\n ]\0|\0{1,3}[\[{]", "text in UTF-16 or UTF-32", _ENCODING),
        (rb"PAR1|ARROW1|SQLite format", "a table of a database or of another program", _DUMP),
        (rb"\s*<(?:!doctype html|html|head|\?php|!--)", "a page of HTML and no dump", "download it again"),
        (rb"\s*<(?:\?xml|mediawiki|rdf:)", "XML", _DUMP),
        (rb"\s*(?:<[a-z]+:|_:|@prefix|@base|prefix\s)", "RDF", _DUMP),
        (rb"\s*-- (?:mysql|mariadb)", "a dump of a database in SQL", _DUMP),
        (rb'\s*\{\s*"(?:entities|success|batchcomplete)"\s*:', "an answer of the API", _ENTITIES),
        (rb"\s*(?:\[\s*)?\{[ \t]*\r?\n", "JSON with line ends inside its entities", _ARRAY),
    )
]


def check_form(path: Path, pieces: Pieces, size: int) -> None:
    """Raises InputError that names the form of a file which does not begin as lines of JSON do.

    What cannot be decompressed is left to whoever reads the file.
    """
    text = b""
    try:
        for chunk in pieces.chunks(0, size):
            text += chunk.text
            if len(text) >= LOOKED_AT:
                break
    except DamagedDump:
        pass
    begin = text[:LOOKED_AT].removeprefix(b"\xef\xbb\xbf")
    forms = (f"{form}; {remedy}" for pattern, form, remedy in _FORMS if pattern.match(begin))
    several = f"JSON with several entities on a line; {_ARRAY}" if _has_several(begin) else None
    if form := next(forms, several):
        raise InputError(f"{path}: is {form}")


def _has_several(text: bytes) -> bool:
    """Whether another entity follows the first one on its line."""
    if (begin := re.match(rb"\s*(?:\[\s*)?(?=\{)", text)) is None:
        return False
    line = text[begin.end() :].partition(b"\n")[0].decode(errors="replace")
    try:
        end = json.JSONDecoder().raw_decode(line)[1]
    except ValueError:
        return False
    return re.match(r"[\s,]*\{", line[end:]) is not None
