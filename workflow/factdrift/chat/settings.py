"""Settings of the chat stage (the key `chat` of the configuration), and the API key.

Descriptions, defaults and limits of the settings are in `config/config.schema.yaml`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec

from factdrift.core.addresses import check_no_password
from factdrift.core.errors import InputError
from factdrift.core.retry import RetryPolicy

OPENAI = "https://api.openai.com/v1"
_LONGEST_BACKOFF = 60.0
"""Seconds between two tries, unless `backoff` or the server asks for more."""


class Form(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What shapes a request: another limit of its price or another server changes none."""

    model: str
    api: Literal["chat", "completions"]
    temperature: float | Literal["server"]
    answer_tokens: int
    limit_param: Literal["max_completion_tokens", "max_tokens"]
    structured: Literal["json_schema", "json_object", "none"]
    extra: dict[str, Any]


class Chat(Form, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """All settings."""

    mode: Literal["live", "replay"]
    base_url: str
    api_key_file: str
    concurrency: int
    timeout: float
    tries: int
    backoff: float
    patience: float
    max_usd: float | None = None
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None

    def __post_init__(self) -> None:
        """Raises InputError if `base_url` is not an address, or one with a password."""
        check_no_password(self.base_url)
        try:
            valid = not self.base_url or bool(urlsplit(self.base_url).hostname)
            urlsplit(self.base_url).port  # noqa: B018
        except ValueError:
            valid = False
        if not valid:
            raise InputError(
                f"configuration: chat.base_url: {self.base_url!r} is not the address of a server"
            )

    @property
    def policy(self) -> RetryPolicy:
        """How requests are repeated."""
        return RetryPolicy(self.tries, self.backoff, _LONGEST_BACKOFF, self.patience, jitter=(0.5, 1.0))

    @property
    def server(self) -> str:
        """The address of the server, without the path of any call."""
        return self.base_url or OPENAI


def api_key(chat: Chat) -> str:
    """The API key to send, "" if the user has none. Raises InputError if it cannot be read or used."""
    source = f"configuration: chat.api_key_file: {chat.api_key_file}"
    try:
        if chat.api_key_file:
            key = Path(chat.api_key_file).read_text(encoding="utf-8").strip()
        else:
            source, key = "OPENAI_API_KEY", os.environ.get("OPENAI_API_KEY", "").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{source}: {error}") from error
    if (chat.api_key_file and not key) or not key.isascii() or len(key.split()) > 1:
        raise InputError(f"{source} must hold one key of ASCII characters and nothing else")
    return key
