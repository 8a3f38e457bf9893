"""Addresses of servers: Wikidata's, that none carries a password, and where an access token is sent."""

import contextlib
import ipaddress
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from factdrift.core.errors import InputError, redacted

QUERY_SERVICE = "https://query.wikidata.org/sparql"
WIKIDATA_API = "https://www.wikidata.org/w/api.php"

TOKEN_VARIABLE = "FACTDRIFT_ACCESS_TOKEN"
"""The environment variable with a personal access token for Wikidata's API."""


def is_url(source: str) -> bool:
    """Whether a source is an address to download from."""
    return source.lower().startswith(("https://", "http://"))


def check_addresses(config: Mapping[str, Any]) -> None:
    """Raises InputError if a value of the configuration is an address with a secret, or is not a valid one.

    `config`: as the user gave it, not yet checked. Snakemake's logs and command lines, the manifest and
    metadata repeat addresses; so the message names the key only, and a signed address is refused, too.
    """
    chat = config.get("chat")
    if isinstance(chat, dict):
        check_no_password(chat.get("base_url"))
    for key, text in texts(config):
        if "://" in text and redacted(text) != text:
            raise InputError(
                f"configuration: {key}: the address must not contain a user name, a password, a key or a "
                "signature, because logs and the manifest repeat it; fetch the file yourself and give "
                "its path"
            )
        if fault := _fault(text):
            raise InputError(f"configuration: {key}: {text} is no valid address ({fault}); correct it")


def check_address(option: str, url: str, *, secrets: bool = False) -> None:
    """Raises InputError unless `url`, the value of an option, is an http(s) address.

    `secrets`: it may be one with a password or a signature, which are not repeated.
    """
    if not secrets and redacted(url) != url:
        raise InputError(
            f"{option}: the address must not contain a user name, a password, a key or a signature"
        )
    if not is_url(url):
        raise InputError(f"{option} {url}: no http(s) address")
    if fault := _fault(url):
        raise InputError(f"{option} {url}: no valid address ({fault})")


def texts(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """All texts among the values of the configuration, each with its key."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from texts(inner, f"{key}.{name}" if key else str(name))
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner, key)


def _fault(text: str) -> str:
    """What is wrong with an http(s) address; empty for a right one, and for any other text."""
    if not is_url(text):
        return ""
    try:
        address = urlsplit(text)
        address.port  # noqa: B018  raises ValueError for what is no port
    except ValueError as error:
        return str(error)
    return "" if address.hostname else "it names no server"


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
    is_local = address.hostname == "localhost"
    with contextlib.suppress(ValueError):  # of a name that is no number
        is_local = is_local or ipaddress.ip_address(address.hostname or "").is_loopback
    if address.scheme != "https" and not is_local:
        raise InputError(
            f"{TOKEN_VARIABLE}: an access token is not sent unencrypted; write the address {url} with "
            "https://, or unset the variable"
        )
    return AccessToken(address.netloc, secret)
