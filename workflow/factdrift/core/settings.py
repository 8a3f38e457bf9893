"""The configuration of the user, checked against its schema and completed with the defaults.

The rules pass single values of it to the commands; no command reads the configuration itself.
"""

import contextlib
import datetime
import itertools
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from factdrift.core.addresses import check_addresses, is_url, texts
from factdrift.core.errors import InputError, meant
from factdrift.core.files import utf8_lines
from factdrift.core.keys import read_schema, validator
from factdrift.core.switches import switches


def configure(config: dict[str, Any], keys_of_methods: Callable[[Sequence[str]], Mapping[str, str]]) -> None:
    """Normalises dates, checks every key, fills in the defaults; in place.

    `keys_of_methods` takes the list `methods` of a configuration and gives the name of each method of
    factdrift, and of the user's own ones in it, as its text there; it raises InputError for a method that
    does not exist. Raises InputError that names each wrong key and what it should be.
    """
    shipped = read_schema()
    schema = {**shipped, "properties": {**shipped["properties"]}}
    config.update(read_value(config, schema))
    # First, because other messages repeat the value that they complain of.
    check_addresses(config)
    # The hyper-parameters of each method are a key; the schema says what is wrong with a list that is none.
    methods = config.get("methods", [])
    listed = isinstance(methods, list) and all(isinstance(method, str) for method in methods)
    for name, keys in keys_of_methods(methods if listed else []).items():
        if name in schema["properties"]:
            raise InputError(
                f"methods: {keys} would be called {name}, which is a key of the configuration; "
                "rename the file or function"
            )
        schema["properties"][name] = {"type": "object", "default": {}}
    _check_keys(config)
    _check_schema(schema, config)
    _fill_defaults(schema, config)
    _check_dates(config)
    if isinstance(config["dumps"], dict):
        _check_entities(config, schema)
    for task in _of_chat(config) if "model" not in config["chat"] else ():
        raise InputError(f"configuration: chat.model: name the model that {task}")
    if config["verbalizer"] == "file" and not config["templates_file"]:
        raise InputError("configuration: templates_file: name the file that `verbalizer: file` is to read")
    _check_period(config["tempripple"])
    asked = config["answer"]["methods"]
    for method in () if asked == "configured" else asked:
        if method not in config["methods"]:
            raise InputError(
                f"configuration: answer.methods: {method} is not in `methods`, which is "
                f"[{', '.join(config['methods'])}]; add it there too"
            )


def dates_of(config: dict[str, Any]) -> list[str]:
    """The dates of the pair and of the sequence, ascending, each once."""
    return sorted({*config["snapshots"].values(), *config["stream"]})


def derived_from(config: dict[str, Any], date: str) -> str:
    """The date from whose dump the dump of `date` is derived: the next one whose own is not derived.

    Raises InputError if there is none.
    """
    for later in dates_of(config):
        if later > date and dump_source(config, later) != "derive":
            return later
    raise InputError(
        f"configuration: {date} is after all dates, so its dump is derived from none; name its dump"
    )


def check_files(config: dict[str, Any]) -> None:
    """Raises InputError that names the first file or directory of the configuration that is missing, or whose
    path has braces."""
    named = [("only.subjects", config["only"]["subjects"]), *(("labels", path) for path in config["labels"])]
    if config["verbalizer"] == "file":
        named.append(("templates_file", config["templates_file"]))
    if _of_chat(config) and config["chat"]["mode"] != "replay":
        named.append(("chat.api_key_file", config["chat"]["api_key_file"]))
    if isinstance(config["dumps"], dict):
        for date in dates_of(config):
            path = dump_source(config, date)
            if path == "entities":
                path = config["dumps"][date]["entities"]
            if path not in ("derive", "wikidata") and not is_url(path):
                named.append((f"dumps.{date}", path))
    klob = config["klob"]
    named += [
        *((f"corpus.runs.{name}", path) for name, path in config["corpus"]["runs"].items()),
        ("klob.templates", klob["templates"] if klob["templates"] != "own" else ""),
        ("klob.r.mquake", klob["r"].get("mquake", "")),
        ("klob.recall.demos", klob["recall"]["demos"]),
        ("klob.u.words", klob["u"]["words"] if klob["u"]["words"] not in ("web2", "nltk") else ""),
    ]
    if config["pageviews"] not in ("none", "wikidata") and not is_url(config["pageviews"]):
        named.append(("pageviews", config["pageviews"]))
    models = (("models", name) for name in config["models"])
    for key, path in (*named, ("edit.dataset", config["edit"]["dataset"]), *models):
        if path.startswith("-"):
            raise InputError(
                f"configuration: {key}: {path} begins with a dash, as options of commands do; write the "
                "absolute path"
            )
    for key, path in named:
        if path and not _exists(path):
            raise InputError(
                f"configuration: {key}: {path} does not exist; correct the path or fetch the file"
            )
        if path and key != "pageviews" and Path(path).is_dir():
            raise InputError(f"configuration: {key}: {path} is a folder; name a file")
    for key, text in texts(config):
        path = text.rpartition(":")[0] if key in ("methods", "locators") else text
        if re.search("[{}]", path) and _exists(path):
            raise InputError(
                f"configuration: {key}: {path}: Snakemake takes braces in a path for a pattern; rename the "
                "file or folder, or name a link to it without braces"
            )
    if config["only"]["subjects"]:
        read_ids(Path(config["only"]["subjects"]), "only.subjects")
    if Path(config["pageviews"]).is_dir():
        # A chat model is asked about the most popular subjects of the old dump.
        old = [config["snapshots"]["old"]] if config["verbalizer"] == "chat" else []
        for date in sorted({*old, config["snapshots"]["new"], *config["stream"][1:]}):
            day = datetime.date.fromisoformat(date)
            month_files(Path(config["pageviews"]), day, config["method"]["popularity_months"])


def _of_chat(config: dict[str, Any]) -> list[str]:
    """What the chat model does in this configuration, as messages say it."""
    tasks = {
        "`verbalizer: chat` is to ask": config["verbalizer"] == "chat",
        "`answer.chat: true` is to ask": config["answer"]["chat"],
        "judges (`written.judge`)": config["written"]["judge"] != "none",
    }
    return [task for task, wanted in tasks.items() if wanted]


def _exists(path: str) -> bool:
    """Whether there is a file or folder of this name; there is none of a text that is too long for one."""
    with contextlib.suppress(OSError):
        return Path(path).exists()
    return False


def check_contact(config: dict[str, Any]) -> None:
    """Raises InputError if Wikidata's API or Query Service is used and no contact is configured.

    A run in which something is to be downloaded checks it when it begins (`factdrift.runs.begin`).
    """
    ripple = config["tempripple"]
    asked = ripple["source"] == "sparql" and ripple["endpoint"] == "wikidata"
    if asked or any(dump_source(config, date) == "entities" for date in dates_of(config)):
        contact_of(config["contact"])


def contact_of(text: str) -> str:
    """The user's mail or web address: `text`, else FACTDRIFT_CONTACT. Raises InputError if it is neither."""
    contact = text.strip() or os.environ.get("FACTDRIFT_CONTACT", "")
    if not re.fullmatch(r"[!-~]+@[!-~]+|https?://[!-~]+", contact):
        raise InputError(
            f"contact: {contact!r} is no mail or web address, and Wikimedia turns away programs that do not "
            "say whom to write to; set the configuration key 'contact' (--config contact=you@example.org), "
            "the option --contact, or FACTDRIFT_CONTACT"
        )
    return contact


def dump_source(config: dict[str, Any], date: str) -> str:
    """`sample`, `derive`, `wikidata`, `entities`, or the path or address of the dump of one date.

    Raises InputError if `dumps` has no entry for it, or if it is no day, as a file's name may have it.
    """
    try:
        datetime.date.fromisoformat(date)
    except ValueError as error:
        raise InputError(f"{date}: {error}; name a day that is in the calendar, such as 2021-01-04") from None
    dumps = config["dumps"]
    if isinstance(dumps, dict) and date not in dumps:
        derive = f" (or `{date}: derive`)" if date != dates_of(config)[-1] else ""
        stream = config["stream"] and date not in config["stream"]
        choose = ", or set `snapshots` to two dates of the stream" if stream else ""
        raise InputError(f"configuration: dumps has no entry for {date}; add `{date}: PATH`{derive}{choose}")
    source = dumps[date] if isinstance(dumps, dict) else dumps
    return "entities" if isinstance(source, dict) else str(source)


def months_before(day: datetime.date, months: int) -> list[str]:
    """The `months` months before the month of `day` as 2022-03, the earliest first."""
    counted = [divmod(day.year * 12 + day.month - 1 - back, 12) for back in range(months, 0, -1)]
    return [f"{year}-{month + 1:02d}" for year, month in counted]


def month_files(directory: Path, day: datetime.date, months: int) -> list[Path]:
    """The files of the `months` months before the month of `day`, the earliest first.

    A month is a table that `factdrift snapshots download` wrote, 2022-03.parquet, or the file as published,
    pageviews-202203-user.bz2.
    """
    files, missing = [], []
    for month in months_before(day, months):
        published = directory / f"pageviews-{month.replace('-', '')}-user.bz2"
        table = directory / f"{month}.parquet"
        files.append(table if table.is_file() else published)
        if not files[-1].is_file():
            missing.append(published.name)
    if missing:
        raise InputError(
            f"{directory}: page views of {len(missing)} months are missing: {', '.join(missing)}; put them "
            "there, or set 'pageviews: none' to use the number of sitelinks"
        )
    return files


def read_ids(path: Path, key: str) -> list[str]:
    """The ids (Q30, P6) of a file with one a line, each once, in the file's order; `#` begins a comment.

    `key` is the configuration's key that names the file. Raises InputError if the file is missing, holds
    anything else, or no id at all.
    """
    if not path.is_file():
        raise InputError(f"{key}: the file {path} is missing; correct the key in the configuration")
    ids: dict[str, None] = {}
    for line, text in enumerate(utf8_lines(path), start=1):
        if name := text.partition("#")[0].strip():
            if not re.fullmatch("[QP][1-9][0-9]*", name):
                raise InputError(f"{path}, line {line}: {name!r} is no id such as Q30 or P6")
            ids[name] = None
    if not ids:
        raise InputError(f"{path}: no id in it; write one a line, such as Q30 or P6")
    return list(ids)


def scope(config: dict[str, Any]) -> str:
    """Which items a snapshot holds whole. Relevance in `revised` depends on both dumps, so it needs all
    items."""
    return "all" if config["variant"] == "revised" else str(config["scope"])


def names(config: dict[str, Any]) -> str:
    """Which items of a snapshot get a row: `held` if the others are not needed, else `all`.

    `reference` needs the labels of all classes and objects, `merges: detect` the existence of each item in
    the new dump.
    """
    chosen = switches(config)
    wanted = config["variant"] == "reference" or chosen["objects"] == "any" or chosen["merges"] == "detect"
    return "all" if wanted or scope(config) == "all" else "held"


def _check_schema(schema: dict[str, Any], config: dict[str, Any]) -> None:
    """Raises InputError that names every key that the schema does not allow."""
    from jsonschema import FormatChecker

    faults = sorted(
        validator()(schema, format_checker=FormatChecker(["date"])).iter_errors(config),
        key=lambda fault: [str(part) for part in fault.absolute_path],
    )
    if faults:
        # One date can break two rules of the schema.
        messages = dict.fromkeys(_explain(fault) for fault in faults)
        raise InputError("configuration: " + "; ".join(messages))


def _check_keys(value: Any, above: str = "") -> None:
    """Raises InputError for the first key, at any depth, that YAML read as something else than text."""
    if isinstance(value, list):
        for part in value:
            _check_keys(part, above)
    elif isinstance(value, dict):
        for key, inner in value.items():
            if not isinstance(key, str):
                raise InputError(
                    f"configuration: {above}{key!r}: YAML reads this key as {type(key).__name__}, a key is "
                    "text; correct it or put it in quotes"
                )
            _check_keys(inner, f"{above}{key}.")


def _check_dates(config: dict[str, Any]) -> None:
    """Raises InputError unless the dates of pair and sequence ascend and each has a dump."""
    old, new = config["snapshots"]["old"], config["snapshots"]["new"]
    if old >= new:
        raise InputError(
            f"configuration: snapshots.old ({old}) is not before snapshots.new ({new}); swap or change them"
        )
    if len(config["stream"]) == 1:
        raise InputError(
            f"configuration: stream: {config['stream'][0]} alone has nothing to be compared with; list two "
            "dates or more, or none for the pair of `snapshots`"
        )
    for earlier, later in itertools.pairwise(config["stream"]):
        if earlier >= later:
            raise InputError(
                f"configuration: stream: {later} comes after {earlier}; "
                "list each date once, the earliest first"
            )
    if not isinstance(config["dumps"], dict):
        return
    *earlier, last = dates_of(config)
    for date in (*earlier, last):
        dump_source(config, date)
    if config["dumps"][last] == "derive":
        raise InputError(
            f"configuration: dumps.{last}: only an earlier snapshot can be derived, from the next "
            "one's dump; give this dump's path"
        )


def _check_period(ripple: dict[str, Any]) -> None:
    """Raises InputError unless TempRIPPLE's dates are in their order."""
    for earlier, later in (("window_start", "change_start"), ("change_start", "change_end")):
        if ripple[earlier] >= ripple[later]:
            raise InputError(
                f"configuration: tempripple.{earlier} ({ripple[earlier]}) is not before tempripple.{later} "
                f"({ripple[later]}); change one of them"
            )
    last_day = datetime.date.fromisoformat(ripple["change_end"]) - datetime.timedelta(days=1)
    first = ripple["immutable_from"] or ripple["window_start"]
    last = ripple["immutable_until"] or last_day.isoformat()
    if first > last:
        raise InputError(
            f"configuration: tempripple.immutable_from ({first}; by default window_start) is after "
            f"tempripple.immutable_until ({last}; by default the day before change_end); change one of them"
        )


def _check_entities(config: dict[str, Any], schema: dict[str, Any]) -> None:
    """Checks dumps that are fetched entity by entity: what they need, and options that they rule out."""
    sources = {date: config["dumps"][date] for date in dates_of(config)}
    fetched = {date: source for date, source in sources.items() if isinstance(source, dict)}
    if not fetched:
        return
    choices = schema["$defs"]["entities"]
    for source in fetched.values():
        _fill_defaults(choices, source)
    date = min(fetched)
    if any(source != "derive" for source in sources.values() if not isinstance(source, dict)):
        raise InputError(
            f"configuration: dumps.{date}: one date's entities and the other date's dump would make all else "
            "look new or gone; give `entities` for all dates"
        )
    if len({source["entities"] for source in fetched.values()}) > 1:
        raise InputError(
            "configuration: dumps: two dates have different files of entities, and what only one has "
            "would look new or gone; name one file for all"
        )
    if switches(config)["merges"] == "detect":
        raise InputError(
            "configuration: merges: entities that were fetched one by one cannot show a merge, since what is "
            "no longer mentioned is not fetched; set `merges: off`"
        )
    if not config["only"]["subjects"]:
        config["only"]["subjects"] = fetched[date]["entities"]


_SCALARS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "integer": (r"[+-]?[0-9]+", int),
    "number": (r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", float),
    "boolean": ("(?i:true|false)", lambda text: text.lower() == "true"),
    "null": ("null|~", lambda text: None),
}
"""Type -> how a text of it is written, and what reads it. Python itself also reads `1_000`, digits of other
scripts and what has blanks or line ends around it."""


def read_value(value: Any, part: Mapping[str, Any]) -> Any:
    """A value in the form that its part of a schema wants, where YAML or the command line give it another.

    Dates (YAML dates, 20210104) become `2021-01-04`, 2.0 a whole number where one is wanted, and an unquoted
    `on` or `off`, which YAML takes for a truth value, that text. `--config neighbors="{facts: 5}"` on the
    command line reaches the workflow as texts only: these become the numbers, truth values and nulls that
    they say. Anything else stays as it is.
    """
    if "$ref" in part:
        part = read_schema()["$defs"][part["$ref"].rpartition("/")[2]]
    if isinstance(value, dict):
        read = {}
        for key, inner in value.items():
            of = part.get("properties", {}).get(key, part.get("additionalProperties"))
            for choice in of.get("oneOf", [of]) if isinstance(of, dict) else ():
                inner = read_value(inner, choice)
            read[read_value(key, part.get("propertyNames", {}))] = inner
        return read
    if isinstance(value, list):
        return [read_value(part_, part.get("items", {})) for part_ in value]
    if isinstance(value, bool) and (word := "on" if value else "off") in part.get("enum", ()):
        return word
    if part.get("format") == "date" and value is not None:
        text = str(value.date() if isinstance(value, datetime.datetime) else value)
        return f"{text[:4]}-{text[4:6]}-{text[6:]}" if re.fullmatch("[0-9]{8}", text) else text
    kinds = part.get("type", ())
    kinds = (kinds,) if isinstance(kinds, str) else kinds
    if isinstance(value, float) and value.is_integer() and "integer" in kinds and "number" not in kinds:
        return int(value)
    for kind in kinds if isinstance(value, str) and "string" not in kinds else ():
        written, of_text = _SCALARS.get(kind, ("", str))
        if re.fullmatch(written, value):
            with contextlib.suppress(ValueError):  # of an integer of over 4,300 digits
                return of_text(value)
    return value


def _fill_defaults(schema: dict[str, Any], value: dict[str, Any]) -> None:
    for key, part in schema.get("properties", {}).items():
        if "default" in part and key not in value:
            value[key] = json.loads(json.dumps(part["default"]))
        if isinstance(value.get(key), dict):
            _fill_defaults(part, value[key])


def _explain(fault: Any) -> str:
    key = ".".join(str(part) for part in fault.absolute_path)
    description = fault.schema.get("description", "").strip()
    # The whole description explains a key with several forms.
    expected = description if fault.validator == "oneOf" else description.split(". ")[0].removesuffix(".")
    if fault.validator == "additionalProperties":
        known = fault.schema.get("properties", {})
        unknown = sorted(set(fault.instance) - set(known))
        named = [".".join(filter(None, (key, name))) + meant(name, known) for name in unknown]
        return f"unknown key {', '.join(named)}; known are {', '.join(known)}"
    if fault.validator == "required":
        return f"{fault.message}{' in ' + key if key else ''}"
    if fault.schema.get("format") == "date":
        return f"{key or 'dumps'}: {fault.instance!r} is no date; write it as 2021-01-04"
    hint = f" ({expected})" if expected else ""
    return f"{key}: {fault.message}{hint}"
