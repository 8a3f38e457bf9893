"""Files of text, CSV, JSON and YAML, and checksums; what is written appears only when it is complete."""

import csv
import datetime
import gzip
import hashlib
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from factdrift.core.errors import InputError
from factdrift.core.owned import atomic_path
from factdrift.core.progress import Progress

Kind = TypeVar("Kind", bound=msgspec.Struct)
_READ_WHOLE = 1_000_000
"""Bytes up to which a stamp has a file's content, as Snakemake compares contents up to that size."""
_SAMPLES, _SAMPLE = 64, 1 << 16
"""Parts of a file, and bytes of each, of which its `identity` is made: 4 MB of any file."""


def write_text(text: str, path: Path) -> None:
    """Writes a text in UTF-8; a last line without an end gets one."""
    with atomic_path(path) as partial:
        partial.write_text(text + "\n" * (text[-1:] not in ("", "\n")), encoding="utf-8")


def write_csv(rows: Iterable[Iterable[Any]], path: Path) -> None:
    """Writes rows, the first of which is the header, as comma-separated values in UTF-8."""
    with atomic_path(path) as partial, partial.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


def write_json(value: Any, path: Path, indent: int | None = 1) -> None:
    """Writes a value as JSON, with letters of any script as they are."""
    write_text(json.dumps(value, indent=indent, ensure_ascii=False), path)


def utf8_lines(path: Path) -> list[str]:
    """The lines of a UTF-8 file, without their ends (`\\n` or `\\r\\n`); no last empty one.

    A byte-order mark, with which some editors begin a file, is left out. Raises InputError that names the
    line if the file is in another encoding; OSError if it cannot be read.
    """
    data = path.read_bytes()
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{path}, line {line}: byte 0x{data[error.start]:02x} is not UTF-8; convert it, for example "
            "with `iconv --from-code=LATIN1 --to-code=UTF-8`"
        ) from None
    lines = [line.removesuffix("\r") for line in text.removeprefix("\ufeff").split("\n")]
    return lines if lines[-1] else lines[:-1]


def json_lines(path: Path, example: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields where a line of JSON Lines is (`FILE, line 3`), for messages, and its object.

    `example`: such an object. Raises InputError that names the line that is wrong.
    """
    for number, line in enumerate(utf8_lines(path), start=1):
        where = f"{path}, line {number}"
        if not line.strip():
            raise InputError(f"{where}: the line is empty; write one JSON object a line")
        try:
            row = json.loads(line, object_pairs_hook=once, parse_constant=no_number)
            text = json.dumps(row, ensure_ascii=False, allow_nan=False)  # 1e999 is read as infinite
        except (ValueError, RecursionError) as error:
            raise InputError(f"{where}: no JSON: {error}") from None
        if not isinstance(row, dict):
            raise InputError(f"{where}: no JSON object such as {example}")
        try:
            text.encode()
        except UnicodeEncodeError:
            raise InputError(
                f"{where}: half of a surrogate pair, which is no character; write it as UTF-8"
            ) from None
        yield where, row


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of these pairs. Raises ValueError if a key is there twice."""
    made, known = dict(pairs), set[str]()
    for name, _ in pairs if len(made) < len(pairs) else ():
        if name in known:
            raise ValueError(f"a key is there twice: {name!r}")
        known.add(name)
    return made


def no_number(name: str) -> None:
    """Raises ValueError, for NaN and the infinite."""
    raise ValueError(f"{name} is no number of JSON")


def read_tsv(path: Path) -> list[dict[str, str]]:
    """The rows of a tab-separated table of the project, column -> text."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def read_yaml(path: Path) -> dict[str, Any]:
    """A file whose outermost value is a mapping. Raises InputError if it is no YAML, or has a key twice."""
    import yaml  # here, because most commands read none

    # libyaml where PyYAML has it: a run begins with the schema.
    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        def flatten_mapping(self, node: Any) -> None:
            if node not in checked:  # once, before the keys of others (`<<`) are merged into it
                checked.append(node)
                keys = (key for key, _ in node.value if isinstance(key, yaml.ScalarNode))
                once([(self.construct_object(key), None) for key in keys if key.value != "<<"])
            super().flatten_mapping(node)

    checked: list[Any] = []
    try:
        content: dict[str, Any] = Loader(path.read_text(encoding="utf-8")).get_single_data()
    except (yaml.YAMLError, ValueError) as error:
        raise InputError(f"{path}: {error}; correct it, or name another file") from None
    return content


def read_struct(path: Path, kind: type[Kind]) -> Kind:
    """A file as a struct. Raises InputError that names a key which is missing, unknown or of another type."""
    try:
        return msgspec.convert(read_yaml(path), kind, builtin_types=(datetime.datetime, datetime.date))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: {error}; correct it, or name another file") from None


def as_struct(content: Any, kind: type[Kind], where: str) -> Kind:
    """A value of a file as a struct; `where`: its place, for messages. Raises InputError as `read_struct`."""
    try:
        return msgspec.convert(content, kind)
    except msgspec.ValidationError as error:
        raise InputError(f"{where}: {error}; correct it") from None


def keep_answer(path: Path, **content: Any) -> None:
    """Writes what a server has answered, and the time, as gzipped JSON, which `kept_answer` reads."""
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    with atomic_path(path) as partial:
        partial.write_bytes(gzip.compress(msgspec.json.encode(content | {"answered": now}), 6, mtime=0))


def kept_answer(path: Path, kind: type[Kind]) -> Kind:
    """A kept answer as a struct. Raises FileNotFoundError, and InputError for a damaged file."""
    try:
        return msgspec.json.decode(gzip.decompress(path.read_bytes()), type=kind)
    except FileNotFoundError:
        raise
    except (OSError, EOFError, zlib.error, ValueError, RecursionError) as error:
        raise InputError(
            f"{path}: cannot be read as a stored answer ({error}); remove the file and run again"
        ) from error


def digests_of(path: Path, kinds: Iterable[str]) -> dict[str, str]:
    """Kind (`sha1`, `md5` ...) -> the checksum of a file, in hexadecimal digits; prints progress."""
    hashes = {kind: hashlib.new(kind, usedforsecurity=False) for kind in kinds}
    if hashes:
        progress = Progress(f"{' and '.join(hashes)} of {path.name}", path.stat().st_size / 1e6, "MB")
        with path.open("rb") as file:
            while data := file.read(8 << 20):
                for hashed in hashes.values():
                    hashed.update(data)
                progress.advance(len(data) / 1e6)
    return {kind: hashed.hexdigest() for kind, hashed in hashes.items()}


def sha256(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def identity(path: Path) -> dict[str, Any]:
    """`file`, its name; `bytes`; `digest`, a hash of the size and of the bytes at 64 places over the file.

    By it an account says which file was read, without reading all of a large one again.
    """
    size = path.stat().st_size
    digest = hashlib.sha256(str(size).encode())
    with path.open("rb", buffering=0) as file:
        for part in range(_SAMPLES):
            file.seek(max(size - _SAMPLE, 0) * part // (_SAMPLES - 1))
            digest.update(file.read(_SAMPLE))
    return {"file": path.name, "bytes": size, "digest": digest.hexdigest()[:32]}


def check_same(path: Path, now: Mapping[str, Any], read: Mapping[str, Any]) -> None:
    """Raises InputError unless the `identity` of a file is that of the file that was read under its name."""
    if any(now.get(key) != read.get(key) for key in ("bytes", "digest")):
        raise InputError(
            f"{path}: is another file than the one that was read: {now['bytes']:,} bytes (digest "
            f"{str(now.get('digest'))[:8]}), it was {read['file']} of {read['bytes']:,} bytes (digest "
            f"{str(read.get('digest'))[:8]}); put that file back, or build again from this one"
        )


def stamp(path: Path) -> list[str]:
    """What tells a file from any other in its place, also from an older one; of a folder, of all files in it.

    Its name with its SHA-256 or, above a megabyte, with its size and time of change, so that no large file is
    read. None of a path without a file.
    """
    if path.is_dir():
        inside = sorted(file for file in path.rglob("[!.]*") if file.is_file())
        return [text for file in inside for text in stamp(file)]
    if not path.is_file():
        return []
    about = path.stat()
    content = sha256(path)[:16] if about.st_size <= _READ_WHOLE else f"{about.st_size} {about.st_mtime_ns}"
    return [f"{path.name} {content}"]


def sha256_of_all(paths: Iterable[Path]) -> str:
    """The SHA-256 over the digests of files in their order, in hexadecimal digits."""
    whole = hashlib.sha256()
    for path in paths:
        whole.update(bytes.fromhex(sha256(path)))
    return whole.hexdigest()
