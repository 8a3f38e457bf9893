"""Errors of files that a command cannot use, in words: the option that names the file, and its fault.

Libraries report a wrong table by an error of their own, which names a column at most. The inputs of the
command are then examined: is one a folder, an empty, cut or other file, or a table without the column?
"""

import errno
import json
import os
import re
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from factdrift.core.paths import PACKAGE
from factdrift.core.products import no_file

_LARGEST = 100_000_000
"""Bytes of a JSON file up to which it is read to find its fault."""

_NO_MATCH = "No files found that match the pattern"
_IS_FOLDER = re.compile(r"is a directory|Is a directory")
_NO_PARQUET = re.compile("magic bytes|Parquet file size is|too small to be a Parquet file")
_NO_COLUMN = re.compile(
    # Messages of DuckDB and pyarrow.
    r"""Referenced column "([^"]+)" not found|Referenced table "([^"]+)" not found"""
    r"""|does not have a column named "([^"]+)"|Column "([^"]+)" (?:in EXCLUDE|does not)"""
    r"""|No match for FieldRef\.Name\(([^)]+)\)|Field "([^"]+)" does not exist"""
)
_LIBRARIES = ("_duckdb", "duckdb", "pyarrow", "msgspec", "json", "yaml", "csv", "zlib", "gzip")

_OF_VALUES = (TypeError, AttributeError, ValueError, LookupError, RecursionError)
"""Errors of Python at a value of another type than is needed."""


class Input(NamedTuple):
    """A path that an option of the command gives."""

    option: str
    path: Path

    def __str__(self) -> str:
        return f"{self.option}: {self.path}"

    def named_in(self, text: str) -> bool:
        """Whether a text names the path or one below it, not a word that begins or ends so."""
        either = "|".join(re.escape(str(path)) for path in (self.path, self.path.absolute()))
        return re.search(rf"(?<![\w./-])(?:{either})(?!\w)", text) is not None


def reason(error: Exception, paths: Sequence[Input], inputs: Sequence[Input]) -> str | None:
    """What is wrong with a file that a command was given; None if the error is not about that.

    `paths`: all that its options name; `inputs`: those that it reads.
    """
    return _of_path(error, paths) or _of_system(error) or _of_content(error, inputs)


def _of_path(error: Exception, paths: Sequence[Input]) -> str | None:
    """The path that is missing, or is a folder instead of a file, or the reverse."""
    text = str(error)
    named = [source for source in paths if source.named_in(text)]
    if isinstance(error, FileNotFoundError | NotADirectoryError) or _NO_MATCH in text:
        if missing := next((source for source in named if not source.path.exists()), None):
            return f"{missing.option}: {no_file(missing.path)}"
        if isinstance(error, FileNotFoundError | NotADirectoryError):
            inside = next((source for source in named if source.path.is_dir() and error.filename), None)
            return (
                f"{inside} has no {Path(error.filename).name}; name the folder that has it"
                if inside
                else None
            )
    if isinstance(error, FileExistsError):
        return next((f"{source} is a file; give a folder" for source in named if source.path.is_file()), None)
    if _NO_MATCH in text or _IS_FOLDER.search(text):
        return next((f"{source} is a folder; give a file" for source in named if source.path.is_dir()), None)
    return None


def _of_system(error: Exception) -> str | None:
    """The file with which the system cannot do what the command needs."""
    words = str(error).partition("\n")[0]
    # A program, or a file of this package; a folder may have been removed meanwhile.
    missing = isinstance(error, FileNotFoundError) and Path(error.filename or ".").parent.is_dir()
    if isinstance(error, OSError) and error.errno and not missing and isinstance(error.filename, str):
        # An unfinished file under its final name.
        path = re.sub(r"\.([^/]+)\.factdrift-[^/]+\.part$", r"\1", error.filename)
        fault = "is no folder, and one is needed" if error.errno == errno.EEXIST else error.strerror
        words = f"{path}: {fault}"
    elif "Permission denied" not in words:  # of a library, which names the file
        return None
    return f"{words}; name another place, or change its permissions"


def _of_content(error: Exception, inputs: Sequence[Input]) -> str | None:
    """The input whose content is of another kind, or lacks a column."""
    text, column, code_line = str(error), _column(error), _code_line(error)
    of_library = type(error).__module__.startswith(_LIBRARIES) or isinstance(
        error, UnicodeDecodeError | EOFError
    )
    of_value = isinstance(error, _OF_VALUES) and code_line
    if not (of_library or of_value or column or _NO_PARQUET.search(text)):
        return None
    named = [source for source in inputs if source.named_in(text)]
    if _NO_PARQUET.search(text):
        # The libraries do not always name the file.
        likely = [*named, *(source for source in inputs if source.path.suffix == ".parquet"), *inputs]
        damaged = (f"{source} is no Parquet file, or damaged" for source in likely if _is_other(source.path))
        cut = f"a table is cut or damaged ({text.partition(chr(10))[0]}); remove it and build it again"
        return next(damaged, cut)
    for source in (*named, *(other for other in inputs if other not in named)):
        if fault := _fault(source.path):
            return f"{source} {fault}"
    suspects = [source for source in named or inputs if source.path.exists()]
    lacking = [source for source in suspects if _columns(source.path) and column not in _columns(source.path)]
    if column and lacking:
        beside = set(re.findall(r'"([^"]+)"', text.partition("Candidate bindings")[2].partition("\n")[0]))
        suspects = [source for source in lacking if beside and beside <= _columns(source.path)] or lacking
        fault = f"no column {column}"
    elif of_library or of_value:
        fault = f"not of the form that is needed ({type(error).__name__}: {text.partition(chr(10))[0]})"
    else:
        return None
    if not suspects:
        return None
    remedy = "give what the workflow makes"
    if not of_library:  # it may be an error of the package as well
        remedy += "; if it is that, report this, with what `FACTDRIFT_TRACEBACK=1` makes the command print"
    fault += f" (met in {code_line})" if code_line else ""
    if len(suspects) == 1:
        return f"{suspects[0]}: {fault}; {remedy}"
    return f"{fault}: {' or '.join(map(str, suspects))}; {remedy}"


def _column(error: Exception) -> str:
    """The column that was looked for in vain; empty if the error is not about one."""
    if match := _NO_COLUMN.search(str(error)):
        return str(next(filter(None, match.groups())))
    is_name = isinstance(error, KeyError) and len(error.args) == 1 and isinstance(error.args[0], str)
    return str(error.args[0]) if is_name else ""


def _is_other(path: Path) -> bool:
    """Whether a path is a file that does not begin and end as a Parquet file does."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        begin = file.read(4)
        file.seek(-min(4, path.stat().st_size), os.SEEK_END)
        return (begin, file.read()) != (b"PAR1", b"PAR1")


def _fault(path: Path) -> str:
    """What is wrong with a file whatever is read from it; empty if nothing is."""
    try:
        if not path.is_file():
            return ""
        if path.suffix == ".parquet":
            import pyarrow as pa
            import pyarrow.parquet as pq

            try:
                names = pq.read_schema(path).names
            except pa.ArrowException:
                return "is no Parquet file, or damaged"
            return "" if names else "has no columns"
        if not path.stat().st_size:
            return "is empty"
        if path.suffix == ".json" and path.stat().st_size <= _LARGEST:
            json.loads(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        return f"is no JSON ({error})"
    return ""


def _columns(path: Path) -> set[str]:
    """The columns of a table, and the fields of their structs; none of what is no table."""
    import pyarrow.parquet as pq

    if path.suffix != ".parquet" or not path.is_file():
        return set()
    return set(re.findall(r"(\w+): ", pq.read_schema(path).to_string(show_schema_metadata=False)))


def _code_line(error: Exception) -> str:
    """The line of a stage's code that met the error; empty if only the command line did."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).is_relative_to(PACKAGE)]
    name = Path(own[-1].filename).relative_to(PACKAGE).as_posix() if own else "cli.py"
    return "" if name == "cli.py" else f"{name}, line {own[-1].lineno}"
