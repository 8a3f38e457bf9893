"""Sends a user's own query to the local server, and prints the answer as a table."""

import json
import urllib.error
import urllib.parse
import urllib.request

from factdrift.core.errors import InputError
from factdrift.sparql.vocabulary import PREFIXES, PROLOGUE

_TRIPLES = "application/n-triples"
_PROLOGUE = PROLOGUE.replace("\n", " ")
"""On one line, so that line numbers in error messages are those of the user's query."""


def answer(url: str, query: str, accept: str) -> tuple[str, str]:
    """Media type and text of the answer to a query.

    `accept`: the media type wanted for rows; a query whose answer is triples gives N-Triples. Wikidata's
    prefixes need not be declared. Raises InputError with the server's words if the query is not valid.
    """
    request = urllib.request.Request(
        url,
        urllib.parse.urlencode({"query": _PROLOGUE + query}).encode(),
        {"Accept": f"{accept}, {_TRIPLES}"},
    )
    try:
        with urllib.request.urlopen(request) as response:
            return response.headers.get_content_type(), response.read().decode("utf-8")
    except urllib.error.HTTPError as error:
        message = error.read().decode("utf-8", "replace").strip()
        raise InputError(f"the query cannot be answered: {message}") from error


def as_table(text: str) -> str:
    """Formats a JSON answer as aligned columns: entities as prefixed names, literals as their text."""
    result = json.loads(text)
    if "boolean" in result:
        return str(result["boolean"]).lower()
    names: list[str] = result["head"]["vars"]
    rows = [[_short(row.get(name)) for name in names] for row in result["results"]["bindings"]]
    widths = [max(map(len, column)) for column in zip(names, *rows, strict=True)]
    lines = [names, ["-" * width for width in widths], *rows]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def _short(value: dict[str, str] | None) -> str:
    if value is None:
        return ""
    if value["type"] == "uri":
        # The longest base that matches, because that of p: is a prefix of that of ps: and others.
        for prefix, base in sorted(PREFIXES.items(), key=lambda entry: -len(entry[1])):
            if value["value"].startswith(base):
                return f"{prefix}:{value['value'].removeprefix(base)}"
    return value["value"].replace("\n", " ")
