"""Jobs: one record a command, from which come flags, help, the shell line of its rule, and the rule's check.

A stage declares its commands in its module `jobs`, each as a class:

    class Difference(Job, command="updates difference"):
        \"""Match the old and the new statements of a bucket.\"""

        old: Dump
        new: Annotated[Dump, "the two tables of the new dump"]
        settings: Annotated[Method, Key("method")]
        output: Output

        def run(self) -> str:
            from factdrift.updates.difference import difference

            return f"{difference(self):,} triples in either dump"

The docstring is the help. Each field is a flag, and the keyword of that name in the rule: a path is an
input, an `Output` an output (the field `output` needs no keyword if it is the only one), anything else a
parameter. A field with a `Key` has description, default and limits from the schema of the configuration, and
its value in a rule from the configuration. `run` returns what the command prints when it has ended.
"""

import argparse
import dataclasses
import datetime
import inspect
import types
import typing
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple, TypeVar, Union

from factdrift.core import keys
from factdrift.core.errors import InputError
from factdrift.core.files import utf8_lines
from factdrift.core.outputs import check_outputs
from factdrift.core.paths import CONFIG
from factdrift.core.switches import switches

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


class Key(NamedTuple):
    """The key of the configuration that a field holds; of a struct, the part that holds its keys.

    `only`: the fields of the struct that a rule passes on; the others do not matter to its job.
    """

    path: str
    only: str = ""


class Flag(NamedTuple):
    """How a field is given by hand: the name of its value, or without a flag by its place.

    `by_hand`: no rule gives it, so that it has its default there. `hidden`: help leaves it out.
    """

    metavar: str = ""
    positional: bool = False
    by_hand: bool = False
    hidden: bool = False


class Role(NamedTuple):
    """The part of the rule that holds a field, where its type does not say it."""

    part: Literal["input", "output", "params", "resources"]


Output = Annotated[Path, Role("output")]
Outputs = Annotated[tuple[Path, ...], Role("output")]
Place = Annotated[Path, Role("params")]
"""A path that is no input: a folder that the command keeps for itself, a name that is not read."""
Places = Annotated[tuple[Path, ...], Role("params")]
Paths = tuple[Path, ...]
_DAY = Flag("YYYY-MM-DD")
Day = Annotated[str, _DAY]
"""A date that stays a text."""
LIST_OF_FILES = ".files"
"""The ending of a file that lists the files beside it, a name a line; by hand it stands for these. Lines that
begin with # are comments."""


AnyRecord = TypeVar("AnyRecord", bound="DataclassInstance")


@typing.dataclass_transform(
    eq_default=False, frozen_default=True, kw_only_default=True, field_specifiers=(dataclasses.field,)
)
class Job(ABC):
    """A command with the values of its flags.

    `command`: stage and verb, such as `updates classify`; a class without one holds fields that several
    commands share. `implied_inputs`: keywords of its rule that are no flags, because the command finds these
    files by itself. `leading`: the flags that help lists first, the others under `more`; empty for all alike.
    """

    command: ClassVar[str] = ""
    implied_inputs: ClassVar[frozenset[str]] = frozenset()
    leading: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, command: str = "", implied_inputs: str = "", leading: str = "") -> None:
        super().__init_subclass__()
        cls.command, cls.leading = command, tuple(leading.split())
        of_bases = (base.implied_inputs for base in cls.__bases__ if issubclass(base, Job))
        cls.implied_inputs = frozenset(implied_inputs.split()).union(*of_bases)
        dataclasses.dataclass(eq=False, frozen=True, kw_only=True, repr=False)(cls)
        if command:
            JOBS[command] = cls

    def check(self) -> None:  # noqa: B027 (most commands have nothing to check)
        """Raises InputError for a name that is not known, before `run` imports or reads anything large."""

    def fill(self, record: type[AnyRecord]) -> AnyRecord:
        """A record of the stage's own, with this job's values of the fields that both have."""
        names = (field.name for field in dataclasses.fields(record))
        return record(**{name: getattr(self, name) for name in names if hasattr(self, name)})

    @abstractmethod
    def run(self) -> str | None:
        """Does the work; what it returns is printed. Raises InputError for what the user can fix."""


_WRITTEN = {f".{kind}" for kind in ("csv", "html", "json", "jsonl", "parquet", "pdf", "svg", "txt", "yaml")}
"""The endings of files of a kind that the name of an option's value says."""

JOBS: dict[str, type[Job]] = {}
"""Command -> its record, of all stages whose modules are imported."""
AnyJob = TypeVar("AnyJob", bound=Job)


class Field(NamedTuple):
    """A field of a job, as its annotation describes it."""

    name: str
    kind: Any
    """Its type, without annotations and without None."""
    optional: bool
    help: str
    key: str
    flag: Flag
    part: str
    """The part of the rule that holds it."""
    default: Any
    """`dataclasses.MISSING` where it has to be given, or has the default of its key."""
    only: str
    """The fields of a struct that a rule passes on; empty for all."""

    @property
    def option(self) -> str:
        return "--" + self.name.rstrip("_").replace("_", "-")

    @property
    def required(self) -> bool:
        return self.default is dataclasses.MISSING and not self.key

    @property
    def many(self) -> bool:
        return typing.get_origin(self.kind) is tuple

    @property
    def is_json(self) -> bool:
        """Whether the flag's value is a JSON text."""
        return keys.is_struct(self.kind) or typing.get_origin(self.kind) is dict


@cache
def fields(job: Any) -> tuple[Field, ...]:
    """The fields of a job, those of its bases first."""
    hints = typing.get_type_hints(job, include_extras=True)
    return tuple(
        _field(
            field.name,
            hints[field.name],
            field.default if field.default_factory is dataclasses.MISSING else field.default_factory(),
        )
        for field in dataclasses.fields(job)
    )


def _field(name: str, hint: Any, default: Any) -> Field:
    notes: list[Any] = []
    optional = False
    while (origin := typing.get_origin(hint)) in (Annotated, Union, types.UnionType):
        if origin is Annotated:
            hint, *inner = typing.get_args(hint)
            notes = [*inner, *notes]
        else:
            (hint,) = (choice for choice in typing.get_args(hint) if choice is not type(None))
            optional = True

    def note(kind: type[Any], otherwise: Any) -> Any:
        return next((of for of in reversed(notes) if type(of) is kind), otherwise)

    part = note(Role, Role("input" if has_paths(hint) else "params")).part
    key, only = note(Key, Key(""))
    return Field(name, hint, optional, note(str, ""), key, note(Flag, Flag()), part, default, only)


def has_paths(kind: Any) -> bool:
    """Whether a type is a path, several, or a tuple of named ones."""
    inner = typing.get_args(kind)[0] if typing.get_origin(kind) is tuple else kind
    if is_named_tuple(inner):
        return all(hint is Path for hint in typing.get_type_hints(inner).values())
    return inner is Path


def is_named_tuple(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")


def summary(job: type[Job]) -> str:
    """The first line of a job's help, as argparse takes it."""
    return inspect.cleandoc(job.__doc__ or "").partition("\n")[0].rstrip(".").replace("%", "%%")


def add_job(verbs: Any, name: str, job: type[Job]) -> argparse.ArgumentParser:
    """Adds the command of a job to the parsers of a stage, under the name of its verb; returns its parser."""
    verb: argparse.ArgumentParser = verbs.add_parser(
        name,
        help=summary(job),
        description=inspect.cleandoc(job.__doc__ or ""),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verb.set_defaults(job=job, parser=verb)
    more = verb.add_argument_group("more") if job.leading else verb
    order = {name: number for number, name in enumerate(job.leading)}
    ordered = sorted(fields(job), key=lambda field: order.get(field.name, len(order)))
    actions = [
        (field, _add_flag(verb if field.flag.positional or field.name in job.leading else more, field))
        for field in ordered
    ]
    if job.leading:
        words = " ".join(str(flag.metavar or flag.dest) for _, flag in actions if not flag.option_strings)
        verb.usage = f"%(prog)s {words} [OPTION ...]"
    format_help = verb.format_help

    def with_keys() -> str:
        # Only now, because reading the schema takes longer than many commands.
        for field, action in actions:
            if field.key and not keys.is_struct(field.kind) and not field.flag.hidden:
                texts = filter(None, [field.help, keys.description_of(field.key)])
                action.help = " ".join(texts).replace("%", "%%")
        structs = (field for field in fields(job) if keys.is_struct(field.kind))
        listings = (keys.listing(field.kind, field.key, field.option, field.only) for field in structs)
        verb.epilog = "\n".join(listings)
        return format_help().replace(" ]", "]")

    verb.format_help = with_keys  # type: ignore[method-assign]
    switches_ = {field.option for field in fields(job) if field.kind is bool}
    parse = verb.parse_known_args

    def with_truth(words: Any = None, namespace: Any = None) -> Any:
        # A rule gives True or False; by hand the flag alone is enough, whatever else follows it.
        joined: list[str] = []
        for word in words:
            if joined and joined[-1] in switches_ and word.lower() in ("true", "false"):
                joined[-1] += f"={word}"
            else:
                joined.append(word)
        return parse([f"{word}=True" if word in switches_ else word for word in joined], namespace)

    verb.parse_known_args = with_truth  # type: ignore[method-assign, assignment]
    return verb


def _add_flag(verb: argparse._ActionsContainer, field: Field) -> argparse.Action:
    short = ["-o"] if field.name == "output" else []
    names = [field.name] if field.flag.positional else [*short, field.option]
    options: dict[str, Any] = {"default": None, "help": _help(field)}
    if field.flag.metavar:
        words = field.flag.metavar.split()
        options["metavar"] = tuple(words) if len(words) > 1 else words[0]
    if not field.flag.positional:
        options |= {"dest": field.name, "required": field.required}
    if is_named_tuple(field.kind):
        parts = field.kind._fields
        options |= {"nargs": len(parts), "type": _path if has_paths(field.kind) else str}
        options.setdefault("metavar", tuple(part.upper() for part in parts))
    elif field.is_json:
        options.setdefault("metavar", "JSON")
        options["help"] = options["help"] or (
            "settings as a JSON object, or @FILE that holds one; keys that are left out have their defaults"
        )
    elif field.kind is bool:
        options |= {"type": _truth, "metavar": ""}
    else:
        inner = typing.get_args(field.kind)[0] if field.many else field.kind
        if typing.get_origin(inner) is Literal:
            options["choices"] = typing.get_args(inner)
        elif field.flag == _DAY:
            options["type"] = _day
        elif inner is not str:
            options["type"] = {datetime.date: _date, Path: _path}.get(inner, inner)
        if inner is datetime.date and not field.flag.positional:
            options.setdefault("metavar", "YYYY-MM-DD")
        if field.many:
            options |= {"nargs": "+" if field.required else "*"}
            if not field.flag.positional:
                options["action"] = "extend"
        elif field.flag.positional and not field.required:
            options["nargs"] = "?"
        if not field.required and not field.many and "type" in options:
            options["type"] = _or_nothing(options["type"])
    return verb.add_argument(*names, **options)


def _help(field: Field) -> str | None:
    """The help of a flag with its default, if it has one; that of a key comes from the schema."""
    if field.flag.hidden:
        return argparse.SUPPRESS
    values = field.default if isinstance(field.default, tuple) else (field.default,)
    nothing = (dataclasses.MISSING, None, False)
    default = " ".join(_shown(value) for value in values if value != {} and value not in nothing)
    shown = f"[default: {default}]" if default else ""
    return f"{field.help} {shown}".strip().replace("%", "%%") or None


def _shown(value: Any) -> str:
    """A default in words; a file of factdrift's own by its path in the checkout."""
    own = isinstance(value, Path) and value.is_relative_to(CONFIG.parent)
    return str(value.relative_to(CONFIG.parent) if own else value)


def _path(text: str) -> Path:
    """A path; the shell leaves a ~ behind `--output=`, and libraries would take it for the home folder."""
    return Path(text).expanduser() if text.startswith("~/") else Path(text)


def _date(text: str) -> datetime.date:
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no date; write it as 2021-01-04") from None


def _day(text: str) -> str:
    return _date(text).isoformat()


def _or_nothing(kind: Any) -> Any:
    """A reader that takes an empty text, which a rule without a value gives, for no value."""

    def read(text: str) -> Any:
        return kind(text) if text else None

    read.__name__ = getattr(kind, "__name__", "value")
    return read


def _truth(text: str) -> bool:
    if text.lower() not in ("true", "false", ""):
        raise ValueError(text)
    return text.lower() == "true"


def record(job: type[AnyJob], options: argparse.Namespace) -> AnyJob:
    """The job with the values of its flags; a switch that is left to the variant is what the variant says.

    Raises InputError that names the flag or key that is wrong.
    """
    values: dict[str, Any] = {}
    for field in fields(job):
        value = getattr(options, field.name)
        if field.is_json and keys.is_struct(field.kind):
            values[field.name] = keys.read_settings(value or "{}", field.kind, field.key, field.option)
        elif value is None or (value == "" and field.optional):
            values[field.name] = None if field.default is dataclasses.MISSING else field.default
            if field.key and field.default is dataclasses.MISSING:
                default = keys.default_of(field.key)
                values[field.name] = tuple(default) if field.many and default is not None else default
        elif field.is_json:
            values[field.name] = keys.read_json(value, field.option)
            if not isinstance(values[field.name], dict):
                raise InputError(f'{field.option}: {value!r} is no JSON object such as {{"layer": 3}}')
        elif is_named_tuple(field.kind):
            values[field.name] = field.kind(*value)
        else:
            values[field.name] = tuple(_listed(value)) if field.many else value
        if field.key and not keys.is_struct(field.kind):
            keys.check_value(field.key, values[field.name], field.option)
            if values[field.name] == "variant":
                values[field.name] = switches({field.key: "variant", "variant": values["variant"]})[field.key]
        elif field.kind is int and not 0 <= (values[field.name] or 0) < 1 << 63:
            # As a limit it would drop the last ones without a word; queries take no larger one.
            raise InputError(f"{field.option}: {value} is below 0 or above {(1 << 63) - 1}")
        kinds = {f".{kind.lower()}" for kind in field.flag.metavar.split("|")}
        if field.part == "output" and _WRITTEN.issuperset(kinds):
            for path in _paths_of(values[field.name]):
                if path.suffix.lower() in _WRITTEN - kinds:
                    shown = " or ".join(sorted(kinds))
                    raise InputError(f"{field.option}: {path}: name a file that ends with {shown}")
    paths = {
        part: {
            field.option: _paths_of(values[field.name])
            for field in fields(job)
            if field.part == part and has_paths(field.kind)
        }
        for part in ("input", "output")
    }
    check_outputs(paths["input"], paths["output"])
    return job(**values)


def _paths_of(value: Any) -> list[Path]:
    """The path of a field, or all of them."""
    if isinstance(value, tuple):
        return [path for inner in value for path in _paths_of(inner)]
    return [] if value is None else [value]


def _listed(values: Iterable[Any]) -> Iterator[Any]:
    """The values of a flag; in the place of a list of files (LIST_OF_FILES) the files that it names."""
    for value in values:
        if isinstance(value, Path) and value.suffix == LIST_OF_FILES:
            try:
                names = (line for line in utf8_lines(value) if not line.startswith("#"))
                yield from (value.parent / name for name in names)
            except OSError as error:
                raise InputError(f"{value}: {error.strerror}; it lists files, a name a line") from None
        else:
            yield value
