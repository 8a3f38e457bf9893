"""Text files that users write: tables and lists."""

from pathlib import Path

from factdrift.core.errors import InputError


def utf8_lines(path: Path) -> list[str]:
    """The lines of a UTF-8 file, without their ends (`\\n` or `\\r\\n`); no last empty one.

    Raises InputError that names the line if the file is in another encoding; OSError if it cannot be read.
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
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    return lines if lines[-1] else lines[:-1]
