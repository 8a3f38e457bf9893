"""Addresses of servers: Wikidata's, that none carries a password, and where an access token is sent."""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from factdrift.errors import InputError

QUERY_SERVICE = "https://query.wikidata.org/sparql"
WIKIDATA_API = "https://www.wikidata.org/w/api.php"

TOKEN_VARIABLE = "FACTDRIFT_ACCESS_TOKEN"
"""The environment variable with a personal access token for Wikidata's API."""


def is_url(source: str) -> bool:
    """Whether a source is an address to download from."""
    return source.startswith(("https://", "http://"))


def check_no_passwords(config: Mapping[str, Any]) -> None:
    """Raises InputError if an address in the configuration holds a user name or a password.

    `config`: as the user gave it, not yet checked. Addresses are repeated in manifest, logs and metadata; so
    the message names the key only.
    """
    chat, ripple, dumps = (config.get(key) for key in ("chat", "tempripple", "dumps"))
    if isinstance(chat, dict):
        check_no_password(chat.get("base_url"))
    named = {key: config.get(key) for key in ("pageviews", "wikidata_api")} | {"dumps": dumps}
    if isinstance(ripple, dict):
        named["tempripple.endpoint"] = ripple.get("endpoint")
    if isinstance(dumps, dict):
        named |= {f"dumps.{date}": source for date, source in dumps.items()}
    for key, address in named.items():
        if isinstance(address, str) and is_url(address) and "@" in urlsplit(address).netloc:
            raise InputError(
                f"configuration: {key}: the address must not contain a user name or a password, because logs "
                "and the manifest repeat it; fetch the file yourself and give its path"
            )


def check_address(option: str, url: str) -> None:
    """Raises InputError unless `url`, the value of an option, is an http(s) address without a password."""
    if not is_url(url) or not urlsplit(url).netloc:
        raise InputError(f"{option} {url}: no http(s) address")
    if "@" in urlsplit(url).netloc:
        raise InputError(f"{option}: the address must not contain a user name or a password")


def check_no_password(base_url: Any) -> None:
    """Raises InputError if the address of a chat server holds a user name, a password or a query.

    The address is written to the manifest, to logs and to command lines; so the message does not repeat it.
    """
    if isinstance(base_url, str) and re.search("[@?#]", base_url):
        raise InputError(
            "configuration: chat.base_url: the address must not contain a user name, a password or a query "
            "(`@`, `?`, `#`), because logs and the manifest repeat it; put the key into a file and name that "
            "file in chat.api_key_file, or set the environment variable OPENAI_API_KEY; in a path, write "
            "`@` as `%40`"
        )


@dataclass(frozen=True)
class AccessToken:
    """A token that is sent to `host` (with its port) only, and never shown."""

    host: str
    secret: str = field(repr=False)


def access_token(url: str) -> AccessToken | None:
    """The user's token for the API at `url`, from the environment; None without one.

    Raises InputError, which does not repeat the token, if no header can hold it, or if it would be sent
    unencrypted to another machine.
    """
    secret = os.environ.get(TOKEN_VARIABLE, "").strip()
    if not secret:
        return None
    if not re.fullmatch(r"[!-~]+", secret):
        raise InputError(
            f"{TOKEN_VARIABLE}: the access token holds a blank or a letter that is not ASCII; copy it again"
        )
    address = urlsplit(url)
    if address.scheme != "https" and not _is_this_machine(address.hostname or ""):
        raise InputError(
            f"{TOKEN_VARIABLE}: an access token is not sent unencrypted; write the address {url} with "
            "https://, or unset the variable"
        )
    return AccessToken(address.netloc, secret)


def _is_this_machine(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
