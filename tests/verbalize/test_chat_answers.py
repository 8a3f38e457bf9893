"""What a chat model answered: its class, and the sentences in it."""

import json
from typing import Any

import pytest

from factdrift.verbalize.sentences import parse

TEN = [f"The capital number {number} of France is Paris." for number in range(10)]
TITLE = "La vie est belle et la mer"
FILMS = [f"The film {TITLE} was made in year {number} by Le Roi de la Rue" for number in range(10)]
LINES = "\n".join(f"{number}. {sentence}" for number, sentence in enumerate(TEN, start=1))


def answer(content: Any, **others: Any) -> dict[str, Any]:
    """A text, or something as JSON."""
    if content is not None and not isinstance(content, str):
        content = json.dumps(content)
    plain = {"status": "answered", "content": content, "refusal": None, "finish_reason": "stop"}
    return {**plain, **others}


@pytest.mark.parametrize(
    ("given", "kind", "sentences"),
    [
        (answer({"sentences": TEN}), "ok", TEN),
        (answer(TEN), "ok", TEN),
        (answer(f"```json\n{json.dumps({'sentences': TEN})}\n```"), "ok", TEN),
        (answer(LINES), "ok", TEN),
        (answer(f"Here they are:\n\n{LINES}\n\nI hope that this helps."), "ok", TEN),
        (answer(LINES.replace(". T", ") T")), "ok", TEN),
        (answer("\n".join(f"- {sentence}" for sentence in TEN)), "ok", TEN),
        # Names in another language make no other language.
        (answer(FILMS), "ok", FILMS),
        (answer(TEN[:7]), "wrong_count", TEN[:7]),
        (answer([*TEN, "One more about France is Paris."]), "wrong_count", TEN),
        (answer([*TEN[:9], " "]), "wrong_count", TEN[:9]),
        (answer([*TEN[:9], TEN[0].upper()]), "duplicated", [*TEN[:9], TEN[0].upper()]),
        (answer(None, status="failed", finish_reason=None), "failed", ()),
        (answer(None, refusal="I would rather not."), "refused", ()),
        (answer(LINES, finish_reason="content_filter"), "refused", ()),
        (answer("I’m sorry, but I cannot help with that."), "refused", ()),
        (answer(LINES, finish_reason="length"), "truncated", ()),
        (answer(None), "empty", ()),
        (answer({"sentences": []}), "empty", ()),
        (answer('{"sentences": ["The capital'), "malformed", ()),
        (answer({"sentences": [{"text": "a"}]}), "malformed", ()),
        (answer("[" * 100_000), "malformed", ()),
        (answer(r'["The capital of France is \ud800 Paris."]'), "malformed", ()),
        (answer([f"Die Hauptstadt {n} von France ist Paris." for n in range(10)]), "wrong_language", ()),
    ],
)
def test_classes(english, given, kind, sentences):
    found, written = parse(given, ["France", "Paris", TITLE, "Le Roi de la Rue"], 10, english)
    assert found == kind
    assert list(written) == list(sentences)
