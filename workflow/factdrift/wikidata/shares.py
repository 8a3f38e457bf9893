"""Shares of a dump: each shard reads a range of the compressed file and the lines that begin in its text.

Shard n reads the pieces (`factdrift.wikidata.streams`) that begin in the n-th part of the file. It drops its
text up to the first line end, and reads on into the next shard's pieces to the end of the line that begins
where its own text ends. So each line belongs to exactly one shard, whether or not lines begin where pieces
do.

A file that cannot be divided (gzip of one member, Zstandard of one frame) is decompressed by every shard, and
each takes every n-th block of BLOCK lines.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec
from stringzilla import count

from factdrift.core.errors import DamagedDump
from factdrift.wikidata.bzip2_blocks import Bzip2Blocks
from factdrift.wikidata.course import Course, Reader
from factdrift.wikidata.entity import UNREADABLE
from factdrift.wikidata.forms import check_form
from factdrift.wikidata.streams import (
    GzipMembers,
    Pieces,
    PlainPieces,
    ZstandardFrames,
    compression,
    damage,
    file_size,
)

BLOCK = 64
"""Consecutive lines that one shard takes where every shard decompresses the whole file."""

BLANK_RUN = 4096
"""Bytes of white space in a row that no program writes between two entities."""

FAULTS_NAMED = 100
"""Places of missing text that an account lists; all are counted."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_AROUND = b" \t\r\n,"
_ITEM = re.compile(rb'\{"(?:type": ?"item", ?")?id": ?"Q(\d{1,10})"')
_AFTER_THE_END = "text follows the ] that closes the array"


class _Block(NamedTuple):
    """Whole lines: bytes `start` to `stop` of `data`. `number`, `offset`: place of the first in the share.

    `checked`: they are from one piece of an archive, whose checksum shows that nothing is missing in them.
    """

    number: int
    offset: int
    data: bytes
    start: int
    stop: int
    checked: bool


class Fault(NamedTuple):
    """A place between the lines where text is missing: its line, byte offset, bytes, and the problem."""

    line: int
    offset: int
    bytes: int
    problem: str


class Needless(Protocol):
    """Recognises by their bytes alone lines that need not be parsed."""

    def others(self, data: bytes, start: int, stop: int) -> Iterator[tuple[int, int, int]]:
        """The lines among bytes `start` to `stop` of `data` (whole lines) that must be parsed.

        Yields (skipped, start, stop): the number of lines skipped since the previous one, and the byte range
        of the line without its newline. The last range is empty, and counts the lines skipped at the end.
        """


@dataclass
class Account:
    """Which part of the dump a share was, known once it has been read.

    `divided`: it was a range of the file, else the whole file. `first`, `stop`: the bytes of the file at
    which its first piece and the next share's first piece begin. `text_bytes`, `line_ends`: bytes and
    newlines in the text of its pieces, which convert places in the share into places in the dump. `opened`:
    the text begins with `[` (None for all shares but the first). `closed`: the last line that is not blank
    closes the array (None if all are blank). `commas`: some line ends in a comma. `needless`: the number of
    lines that were skipped unparsed. `faults`: the first places between lines where text is missing, of
    `faulty` ones with `faulty_bytes` bytes. `course`: the order of its items.
    """

    divided: bool
    first: int
    stop: int = 0
    text_bytes: int = 0
    line_ends: int = 0
    opened: bool | None = None
    closed: bool | None = None
    commas: bool = False
    needless: int = 0
    faults: list[Fault] = field(default_factory=list)
    faulty: int = 0
    faulty_bytes: int = 0
    course: Course = field(default_factory=Course)


class Share:
    """The part of a dump that is one shard's; `account` is complete when `lines` has ended."""

    def __init__(self, path: str | Path, shard: int = 0, shards: int = 1) -> None:
        """Raises InputError if the file is missing, unreadable or empty, or begins as no lines of JSON do."""
        self.path, self._shard, self._shards = Path(path), shard, shards
        size = file_size(self.path)
        self._pieces, divided = _pieces(self.path, shards)
        if shard == 0 or not divided or isinstance(self._pieces, PlainPieces):
            check_form(self.path, self._pieces, size)
        begin, self._end = (size * shard // shards, size * (shard + 1) // shards) if divided else (0, size)
        self.size, self._begin = self._end - begin, begin
        self.passed = 0
        """Bytes of the share, out of `size`, before the piece that is being read."""
        self._is_empty = begin == self._end
        first = self._pieces.first(begin)
        opened = False if begin == 0 and not self._is_empty else None
        self.account = Account(divided, first, first, opened=opened)
        self._awaits_bracket = opened is False
        self._after_comma = False
        """Whether a comma is the last that came, apart from white space."""
        self._blank: tuple[int, int, int] | None = None
        """Line, offset and bytes of the white space that came last."""

    def lines(self, needless: Needless | None = None) -> Iterator[tuple[int, int, bytes]]:
        """Number, byte offset and text of every line with an entity, except `needless` ones.

        Numbers (from 1) and offsets count from the beginning of the share's text: add the `line_ends` and
        `text_bytes` of the shares before it. White space, separating commas and the brackets of the array are
        removed; lines with nothing else are skipped. The text is not checked to be JSON. Lines are
        skipped as needless only if a checksum shows that none of their text is missing.

        Raises InputError if the file is damaged in this share, or if its text holds NUL bytes.
        """
        account, shard, shards = self.account, self._shard, self._shards
        all_are_mine = account.divided or shards == 1
        order = Reader()
        for number, offset, data, start, stop, checked in self._blocks():
            if not account.commas:
                account.commas = data.find(b",\n", start, stop) >= 0 or data.find(b",\r\n", start, stop) >= 0
            if item := _ITEM.match(data, start, stop):
                order.see(number, int(item[1]))
            chosen = _every_line if needless is None or not checked else needless.others
            reached = start
            for passed, begin, end in chosen(data, start, stop):
                if passed:
                    self._blank_ends()
                    if account.closed:
                        self._fault(number, offset + reached - start, 0, _AFTER_THE_END)
                    account.closed = self._awaits_bracket = False
                    self._after_comma = data.endswith((b",", b",\n"), start, begin)
                    account.needless += passed if all_are_mine else self._mine(number, passed)
                    number += passed
                if begin == stop:
                    break
                position = number, offset + begin - start
                # `_text` has nothing more to remove from most lines, and does not copy them again.
                comma = data.endswith(b",", begin, end)
                text = self._text(data[begin : end - comma], position, comma)
                if text and (all_are_mine or number // BLOCK % shards == shard):
                    yield *position, text
                number += 1
                reached = end + 1
        self._blank_ends()
        account.course = order.course()

    def _blank_ends(self) -> None:
        """Records the white space that came last, if it is so much that it must have replaced text."""
        blank, self._blank = self._blank, None
        if blank is not None and blank[2] >= BLANK_RUN:
            self._fault(*blank, f"{blank[2]:,} bytes of white space in the place of text")

    def _fault(self, line: int, offset: int, size: int, problem: str) -> None:
        if self.account.divided or line // BLOCK % self._shards == self._shard:
            self.account.faulty += 1
            self.account.faulty_bytes += size
            if len(self.account.faults) < FAULTS_NAMED:
                self.account.faults.append(Fault(line, offset, size, problem))

    def _mine(self, number: int, lines: int) -> int:
        """How many of the `lines` lines from `number` on belong to this shard of an undivided file."""
        return sum(line // BLOCK % self._shards == self._shard for line in range(number, number + lines))

    def _check_written(self, data: bytes, line: int, offset: int) -> None:
        """Raises InputError if `data`, which begins at this line and offset of the share, holds NUL bytes."""
        nul = data.find(b"\0")
        if nul >= 0:
            line += count(data, b"\n", 0, nul)
            after = f", after byte {self.account.first} of the file" if self.account.first else ""
            raise DamagedDump(
                f"{self.path}, line {line} (byte {offset + nul}{after}): the text holds NUL bytes: a part of "
                "it was never written or has been erased, and its lines are lost; download it again and "
                "compare its checksum"
            )

    def _text(self, line: bytes, position: tuple[int, int], comma: bool) -> bytes:
        """The text of a line without commas and brackets of the array; records whether it opens or closes it.

        `position`: its number and offset; `comma`: it ended in a comma, which has been removed. A bracket on
        the line of an entity counts only if the rest of the line is a whole entity: what is left of a
        truncated line may begin or end with a bracket of its own.
        """
        if self._awaits_bracket:
            line = line.removeprefix(_BYTE_ORDER_MARK)
        text = line.strip(_AROUND)
        if len(text) < len(line) or not line:
            self._check_around(line, text, position, comma)
        else:
            self._blank_ends()
            self._after_comma = comma
        if text and self._awaits_bracket:
            self._awaits_bracket = False
            if text.startswith(b"["):
                rest = text[1:].lstrip(_AROUND)
                self.account.opened = rest in (b"", b"]") or _is_json(rest) or _is_last(rest)
                text = rest if self.account.opened else text
        if text:
            if self.account.closed:
                self._fault(*position, 0, _AFTER_THE_END)
            self.account.closed = text == b"]" or _is_last(text)
            if self.account.closed:
                text = text[:-1].rstrip(_AROUND)
        return text

    def _check_around(self, line: bytes, text: bytes, position: tuple[int, int], comma: bool) -> None:
        """Records faults of the white space and commas around the text of a line, or in its place."""
        number, offset = position
        before = line[: len(line) - len(line.lstrip(_AROUND))]
        after = line[len(before) + len(text) :]
        first, begun, size = self._blank or (number, offset, 0)
        self._blank = first, begun, size + len(before) + (not text)
        commas = before.count(b",") + (comma and not text)
        doubled = commas + self._after_comma > 1 if commas else False
        self._after_comma = self._after_comma or commas > 0
        if text:
            self._blank_ends()
            commas = comma + after.count(b",")
            doubled = doubled or (commas > 1 and text.endswith(b"}"))
            self._after_comma = commas > 0
            if after:
                self._blank = number, offset + len(before) + len(text), len(after) + 1
        if doubled:
            self._fault(number, offset, 0, "two commas with no entity between them")

    def _blocks(self) -> Iterator[_Block]:
        """The share's lines in blocks; fills in `stop`, `text_bytes` and `line_ends` of the account."""
        if self._is_empty:
            return
        account = self.account
        dropping = account.opened is None
        ended = False  # the text of the share's own pieces
        beyond = 0  # bytes that have been read after it
        rest: list[bytes] = []  # of a line whose end has not come yet
        rest_offset = rest_piece = 0
        for piece, data, is_checked in self._pieces.chunks(account.first, self._end):
            self.passed = min(max(piece - self._begin, 0), self.size)
            if not data and (ended or piece < self._end):
                continue
            if not data:
                account.stop = piece
                if dropping:
                    return  # no line begins here
                ended = True
                continue
            number, offset = account.line_ends, account.text_bytes
            self._check_written(data, number + 1, offset + beyond)
            if ended:
                beyond += len(data)
            else:
                account.text_bytes += len(data)
                account.line_ends += count(data, b"\n")
            start = 0
            if dropping or rest or ended:
                start = data.find(b"\n") + 1
                if not start and not dropping:
                    if not rest:
                        rest_offset, rest_piece = offset, piece
                    rest.append(data)
                if not start:
                    continue
                number += 1
                if dropping:
                    self._after_comma = data[:start].rstrip().endswith(b",")
                else:
                    line = b"".join((*rest, data[:start]))
                    checked = is_checked and (not rest or rest_piece == piece)
                    yield _Block(number, rest_offset if rest else offset, line, 0, len(line), checked)
                    rest = []
                dropping = False
                if ended:
                    return
            stop = data.rfind(b"\n") + 1
            if stop > start:
                yield _Block(number + 1, offset + start, data, start, stop, is_checked)
            if max(stop, start) < len(data):
                rest = [data[max(stop, start) :]]
                rest_offset, rest_piece = offset + max(stop, start), piece
        if rest:
            line = b"".join(rest)
            yield _Block(account.line_ends + 1, rest_offset, line, 0, len(line), False)


def _is_last(text: bytes) -> bool:
    """Whether a text is a whole entity and the bracket that closes the array."""
    return text.endswith(b"}]") and _is_json(text[:-1])


def _is_json(text: bytes) -> bool:
    try:
        msgspec.json.decode(text)
    except UNREADABLE:
        return False
    return True


def _every_line(data: bytes, start: int, stop: int) -> Iterator[tuple[int, int, int]]:
    while start < stop:
        end = data.find(b"\n", start, stop)
        if end < 0:
            end = stop
        yield 0, start, end
        start = end + 1


def check_shares(path: Path, accounts: Sequence[Account]) -> None:
    """Checks that the shares of a dump, in their order, are the whole of it.

    Raises DamagedDump if a range of the file belongs to no share, if the text has only one of the two
    brackets of an array, or if it has neither but its lines end in commas.
    """
    size = file_size(path)
    reached = 0
    for account in accounts:
        if account.first != reached:
            low, high = sorted((reached, account.first))
            raise damage(path, low, high, "no shard has read this range")
        reached = account.stop if account.divided else 0
    if accounts[-1].stop != size:
        raise damage(path, accounts[-1].stop, size, "no shard has read this range")
    # The first shard's share is empty if the file has fewer bytes than there are shards.
    opened = any(account.opened for account in accounts)
    ends = [account.closed for account in accounts if account.closed is not None]
    closed = ends[-1:] == [True]
    if closed and not opened:
        raise DamagedDump(
            f"{path}, line 1: the beginning of the dump is missing, the text ends with the ] of an array but "
            "does not begin with [; download it again and compare its checksum"
        )
    if ends and not opened and any(account.commas for account in accounts):
        raise DamagedDump(
            f"{path}: its lines end in commas, as those of an array, but the text has neither [ nor ]: it is "
            "a piece from the middle of a dump; name the whole dump or, if you want the piece, remove the "
            "commas at the ends of its lines"
        )
    if opened and not closed:
        counted = accounts if accounts[0].divided else accounts[:1]
        lines, text = sum(share.line_ends for share in counted), sum(share.text_bytes for share in counted)
        raise DamagedDump(
            f"{path}, line {lines}: the dump is truncated, its closing ] is missing after {text:,} bytes "
            "of text; download it again and compare its checksum"
        )


def _pieces(path: Path, shards: int) -> tuple[Pieces, bool]:
    """The file in pieces, and whether it can be divided among the shards."""
    if (packed := compression(path)) in ("gzip", "zstd"):
        pieces = GzipMembers(path) if packed == "gzip" else ZstandardFrames(path)
        return pieces, shards == 1 or pieces.are_several()
    return Bzip2Blocks(path) if packed == "bzip2" else PlainPieces(path), True
