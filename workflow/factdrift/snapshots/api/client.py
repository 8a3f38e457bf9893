"""A client of Wikidata's API that keeps Wikimedia's rules.

They are (https://www.mediawiki.org/wiki/API:Etiquette): a user agent with a contact; one request at a time;
`maxlag=5`, with which the servers refuse requests while their replicas lag; waiting as long as Retry-After
says, and longer after every failure.
"""

import json
from collections.abc import Mapping
from typing import Any

from factdrift.core.addresses import TOKEN_VARIABLE
from factdrift.core.errors import InputError
from factdrift.core.retry import RetryPolicy, TransientError
from factdrift.snapshots.fetch import Client, Limits, Missing

MAXLAG = 5
"""Seconds that the servers' replicas may lag before they refuse a request."""

POLICY = RetryPolicy(tries=16, unreached=3)
"""Waits up to 45 minutes in all before the job ends, but only seconds for a server that is never reached."""

LIMITS = Limits(timeout=120.0)

_TRANSIENT = ("maxlag", "ratelimited", "readonly")
_TRANSIENT_KIND = "internal_api_error"
"""The beginning of such codes."""

_LOGIN = "mwoauth"
"""The beginning of the codes with which an access token is refused."""


class Api:
    """The API at one address."""

    def __init__(self, url: str, client: Client) -> None:
        self.url, self.client = url, client

    def get(self, parameters: Mapping[str, str | int]) -> dict[str, Any]:
        """The answer to one request, in the API's format version 2.

        Transient failures are repeated. Raises InputError if the server refuses the request, fails too often,
        or asks for too long a wait.
        """
        query = {**parameters, "format": "json", "formatversion": 2, "maxlag": MAXLAG}
        try:
            return self.client.small(self.url, query, self._read)
        except Missing:
            raise InputError(f"wikidata_api: {self.url} does not exist; correct the address") from None

    def _read(self, data: bytes) -> dict[str, Any]:
        try:
            answer = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise TransientError("an answer that is not JSON") from error
        if not isinstance(answer, dict):
            raise TransientError("an answer that is not a JSON object")
        if "error" in answer:
            fault = answer["error"] if isinstance(answer["error"], dict) else {}
            code, info = str(fault.get("code", "")), fault.get("info", "")
            if code in _TRANSIENT or code.startswith(_TRANSIENT_KIND):
                raise TransientError(f"{code}: {info}")
            hint = f"; is the token in {TOKEN_VARIABLE} valid?" if code.startswith(_LOGIN) else ""
            raise InputError(f"{self.url}: the API refuses the request ({code}: {info}){hint}")
        return answer
