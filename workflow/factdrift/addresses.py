"""Addresses in the configuration: what is one, and that none carries a password."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from factdrift.errors import InputError


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
    named = {"dumps": dumps, "pageviews": config.get("pageviews")}
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
