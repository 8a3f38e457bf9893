"""Shell lines of rules that run jobs, parameters from the configuration, and the check of their keywords."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from factdrift.core.errors import InputError
from factdrift.core.jobs import Field, Job, fields, is_named_tuple
from factdrift.core.keys import is_struct, settings_of, value_of


class ShellLine(str):
    """The shell line of a rule, and the jobs that it runs."""

    jobs: tuple[type[Job], ...]
    without: frozenset[str]


def shell_line(jobs: tuple[type[Job], ...], without: str = "") -> ShellLine:
    """The lines that run jobs with a rule's files and parameters, in Snakemake's form.

    All that they print goes into the rule's log, messages for the user to the terminal, too. `without`:
    fields that stay at their defaults, as do those that are given by hand only.
    """
    by_hand = (field.name for job in jobs for field in fields(job) if field.flag.by_hand)
    omitted = frozenset(without.split()).union(by_hand)
    lines = ['exec &> >(tee {log:q} | grep --line-buffered "^factdrift: ")']
    only = has_single_output(jobs)
    for job in jobs:
        # Those without a flag come first: behind a flag with several values they would be one of them.
        placed = sorted(fields(job), key=lambda field: not field.flag.positional)
        flags = [_with_value(field, only) for field in placed if field.name not in omitted]
        lines.append(" \\\n            ".join([f"factdrift {job.command}", *flags]))
    # Indented, so that it is apart from the other lines where Snakemake prints it.
    line = ShellLine("".join(f"\n        {text}" for text in lines) + "\n")
    line.jobs, line.without = jobs, omitted
    return line


def has_single_output(jobs: Sequence[type[Job]]) -> bool:
    """Whether the field `output` is the only output of these jobs, so that their rule needs no keyword."""
    outputs = [field for job in jobs for field in fields(job) if field.part == "output"]
    return [field.name for field in outputs] == ["output"] and not outputs[0].many


def _with_value(field: Field, only: bool) -> str:
    """A flag with its value from the rule; one that may be absent or begin with `-` is joined to its flag.

    `only`: what `has_single_output` says.
    """
    braced = f"{{{field.part}.{field.name}:q}}"
    if field.name == "threads":
        braced = "{threads}"
    elif only and field.part == "output":
        braced = "{output:q}"
    if field.flag.positional:
        return braced
    joined = not field.many and not is_named_tuple(field.kind) and (field.kind is str or not field.required)
    return f"{field.option}{'=' if joined and field.name != 'threads' else ' '}{braced}"


def parameter_of(config: Mapping[str, Any], field: Field) -> Any:
    """What the configuration says for a field, as a rule passes it on.

    None is `[]`; a map, and what a struct holds, is JSON.
    """
    if is_struct(field.kind):
        return settings_of(config, field.kind, field.key, field.only)
    value = value_of(config, field.key.split("."))
    if isinstance(value, Mapping):
        return json.dumps(value, sort_keys=True)
    return [] if value in (None, msgspec.UNSET) else value


def check_keywords(where: str, line: ShellLine, keywords: Mapping[str, set[str]]) -> None:
    """Raises InputError that names both if a rule's keywords are not the fields of its jobs.

    `where`: the rule, for the message. `keywords`: part of the rule -> its keywords; "" for an output without
    one, as the only output may be.
    """
    commands = ", ".join(job.command for job in line.jobs)
    wanted: dict[str, set[str]] = {part: set() for part in keywords}
    for job in line.jobs:
        for field in fields(job):
            if field.name not in line.without and field.name != "threads":
                wanted[field.part].add(field.name)
            elif field.required and field.name in line.without:
                raise InputError(f"{where}: {job.command} needs {field.name}, which has no default")
    if has_single_output(line.jobs):
        wanted["output"] = {""}
    implied = {"code", "given"}.union(*(job.implied_inputs for job in line.jobs))
    for part, names in wanted.items():
        if missing := sorted(names - keywords[part]):
            name = f"keyword {missing[0]}" if missing[0] else "file without keyword, `output`"
            raise InputError(f"{where}: {part} has no {name}, a field of {commands}")
        # Resources are for the scheduler, too.
        if part != "resources" and (more := sorted(keywords[part] - names - implied)):
            raise InputError(f"{where}: {part} has the keyword {more[0]}, which is no field of {commands}")
