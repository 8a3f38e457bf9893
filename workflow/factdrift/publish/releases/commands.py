"""Command line: `factdrift refresh`, and the job `factdrift release`."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from factdrift.core.errors import InputError


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    help_ = "make a release of each new dump: for cron, once a month or more often"
    verb = commands.add_parser("refresh", help=help_, description=help_)
    verb.add_argument("--configfile", type=Path, help="a configuration beside config/config.yaml")
    verb.add_argument("--contact", help="for servers; else `contact` of the configuration")
    verb.add_argument(
        "snakemake",
        nargs="*",
        metavar="ARGUMENT",
        help="for Snakemake, after `--` (default: --cores all)",
    )
    verb.set_defaults(run=_refresh)

    help_ = "copy the products of a sequence of dates into a folder of their own"
    verb = commands.add_parser("release", help=help_, description=help_)
    verb.add_argument(
        "--files", type=Path, nargs="+", required=True, help="products, one of them stream.parquet"
    )
    verb.add_argument("--dates", nargs="+", required=True, help="the sequence, YYYY-MM-DD")
    verb.add_argument("--dumps", type=json.loads, required=True, help="JSON: date -> source of its dump")
    verb.add_argument(
        "--configuration",
        type=json.loads,
        required=True,
        help="JSON: what a release depends on",
    )
    verb.add_argument("-o", "--output", type=Path, required=True, help="the folder")
    verb.set_defaults(run=_release)


def _refresh(options: argparse.Namespace) -> None:
    from factdrift.core.paths import CONFIG
    from factdrift.core.settings import configure
    from factdrift.core.yaml_files import read_yaml
    from factdrift.edit.methods.own import own_methods
    from factdrift.publish.releases.refresh import Order, Settings, refresh
    from factdrift.publish.releases.series import configuration
    from factdrift.snapshots.fetch import Client

    default: dict[str, Any] = read_yaml(CONFIG / "config.yaml")
    config: dict[str, Any] = read_yaml(CONFIG / "config.yaml")
    if options.configfile is not None:
        if not options.configfile.is_file():
            raise InputError(f"{options.configfile}: no such file; name a configuration")
        config = _merged(config, read_yaml(options.configfile))
    if options.contact is not None:
        config["contact"] = options.contact
    configure(config, own_methods)
    configure(default, own_methods)
    arguments = options.snakemake or ["--cores", "all"]
    for argument in arguments:
        if argument.partition("=")[0] in ("--config", "-C", "--configfile", "--configfiles"):
            raise InputError(
                f"{argument}: `factdrift refresh` must know the configuration too; write its keys to a "
                "file, and name that by --configfile before the `--`"
            )
    if options.configfile is not None:
        arguments += ["--configfile", str(options.configfile)]
    own = {} if options.contact is None else {"contact": options.contact}
    keys = config["refresh"]
    status = refresh(
        Settings(keys["listings"], keys["every"], keys["retention"]),
        Client(config["contact"]),
        Order(own, configuration(config), configuration(default), arguments),
        lambda text: print(text, flush=True),
    )
    if status:
        raise SystemExit(status)


def _merged(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """As Snakemake merges two files of configuration: mappings key by key."""
    both = dict(below)
    for key, value in above.items():
        held = both.get(key)
        both[key] = _merged(held, value) if isinstance(held, dict) and isinstance(value, dict) else value
    return both


def _release(options: argparse.Namespace) -> None:
    from factdrift.publish.releases.release import Release, write_release

    release = Release(options.dates, options.dumps, options.configuration)
    write_release(options.files, release, options.output)
    print(f"{options.output}: {len(options.files)} files")
