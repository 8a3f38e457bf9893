"""Keys, bodies and tables of requests."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from factdrift.chat.requests import (
    REQUESTS,
    answer_limit,
    build_body,
    canonical,
    check_names,
    key_of,
    read_requests,
)
from factdrift.chat.settings import Chat
from factdrift.core.errors import InputError
from factdrift.core.keys import read_settings

MESSAGES = [{"role": "user", "content": "Hi"}]
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
NUMBERS = st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


def reversed_keys(value: Any) -> Any:
    """The same JSON value in another order, with whole numbers written as floats."""
    if isinstance(value, dict):
        return {key: reversed_keys(value[key]) for key in reversed(value)}
    if isinstance(value, list):
        return [reversed_keys(item) for item in value]
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**53:
        return float(value)
    return value


@given(VALUES)
def test_equal_values_have_one_canonical_form(value: Any) -> None:
    text = canonical(value)
    assert json.loads(text) == value
    assert canonical(json.loads(text)) == text
    assert canonical(json.loads(json.dumps(reversed_keys(value), indent=1))) == text
    assert canonical([value, True, 1.0, 0, False]) == f"[{text},true,1,0,false]"


def test_keys_are_those_of_published_stores() -> None:
    # If this fails, no published store can be used any more: raise the version in the key instead.
    key = key_of("m", canonical({"messages": MESSAGES, "temperature": 0.0}))
    assert key == "dc3e26fc84f8548231bd3000062bdcb74309cbb4d91d94c8275531e17fb51e52"
    assert key != key_of("m2", canonical({"messages": MESSAGES, "temperature": 0}))
    assert key != key_of("m", canonical({"messages": MESSAGES, "temperature": 1}))


def test_bodies_have_the_fields_that_the_server_understands() -> None:
    schema = {"type": "object"}

    def body(schema: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:
        chat = read_settings(json.dumps({"model": "m"} | options), Chat, "chat")
        return dict(json.loads(build_body(chat, MESSAGES, schema)))

    assert body() == {"messages": MESSAGES, "temperature": 0, "max_completion_tokens": 800}
    form = {"name": "answer", "strict": True, "schema": schema}
    assert body(schema)["response_format"] == {"type": "json_schema", "json_schema": form}
    assert body(schema, structured="json_object")["response_format"] == {"type": "json_object"}
    assert "response_format" not in body(schema, structured="none")
    other = body(limit_param="max_tokens", answer_tokens=5, temperature="server", extra={"seed": 7})
    assert other == {"messages": MESSAGES, "max_tokens": 5, "seed": 7}
    assert answer_limit(other) == 5
    assert answer_limit({}) is None


def written(path: Path, *rows: tuple[str | None, str]) -> Path:
    names, bodies = zip(*rows, strict=True) if rows else ((), ())
    pq.write_table(pa.table([list(names), list(bodies)], schema=REQUESTS), path)
    return path


@pytest.mark.parametrize(
    ("body", "why"),
    [
        *(("{", "Expecting"), ('{"messages": []}', "messages"), ("[" * 100_000, "depth")),
        *(('{"messages": [{}], "model": "x"}', "`model`"), ('{"messages": [{}], "n": 2}', "`n`")),
        ('{"messages": [{}], "temperature": NaN}', "JSON compliant"),
        ('{"messages": [{"content": "\\ud800"}]}', "surrogates"),
    ],
)
def test_an_invalid_body_is_named(tmp_path: Path, body: str, why: str) -> None:
    path = written(tmp_path / "r.parquet", ("good", json.dumps({"messages": MESSAGES})), ("bad", body))
    with pytest.raises(InputError, match=rf"r\.parquet: .*'bad'.*{why}"):
        list(read_requests(path, "m"))


def test_a_file_that_is_not_a_table_of_requests_is_named(tmp_path: Path) -> None:
    (tmp_path / "text.parquet").write_text("no table")
    with pytest.raises(InputError, match=r"text\.parquet: cannot be read"):
        check_names(tmp_path / "text.parquet")
    pq.write_table(pa.table({"request": ["a"], "body": [1]}), tmp_path / "t.parquet")
    with pytest.raises(InputError, match="column body of type string"):
        check_names(tmp_path / "t.parquet")
    body = json.dumps({"messages": MESSAGES})
    with pytest.raises(InputError, match="'a' occurs more than once"):
        check_names(written(tmp_path / "u.parquet", ("a", body), ("b", body), ("a", body)))
    with pytest.raises(InputError, match="the request None has no name"):
        check_names(written(tmp_path / "u.parquet", ("a", body), (None, body)))
