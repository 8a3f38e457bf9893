"""The files of the prompts."""

import re
import shutil

import pytest

from factdrift.core.errors import InputError
from factdrift.verbalize.language import read_language

SLOTS = {
    **{name: {"sentences"} for name in ("task", "as_json", "as_lines")},
    **{name: {"subject", "relation", "object"} for name in ("fact", "example")},
    **{"meaning": {"name", "description"}, "reminder": {"object"}},
}


@pytest.mark.parametrize("code", ["en", "de"])
def test_each_text_has_its_slots(prompts, code):
    texts = read_language(prompts, code).texts
    for key, slots in SLOTS.items():
        assert set(re.findall(r"\{(\w+)\}", getattr(texts, key))) == slots, key
        assert getattr(texts, key).endswith("\n"), key
    # The interface of some servers refuses json_object unless the prompt says JSON.
    assert "JSON" in texts.as_json
    assert '"sentences"' in texts.as_json


def test_every_prompt_has_common_words(prompts, english):
    assert {path.stem for path in prompts.glob("*.yaml")} <= set(english.common_words)
    assert all(len(words) >= 25 for words in english.common_words.values())


@pytest.mark.parametrize(
    ("sentence", "other"),
    [
        *(("The capital of is", False), ("", False), ("Radio Televisione", False)),
        *(("Die Hauptstadt von ist", True), ("La capitale de la est", True), ("首都は", True)),
        ("was the president of la Generalitat de la", False),
    ],
)
def test_other_languages_than_english(english, sentence, other):
    assert english.is_other(sentence) is other


def test_a_language_without_prompts_is_named(prompts):
    with pytest.raises(InputError, match=r"languages: there are no prompts in 'xx'.*known are de, en"):
        read_language(prompts, "xx")


@pytest.mark.parametrize(
    ("before", "after", "wrong"),
    [("task: |", "tusk: |", "task"), ('"on"', "on", "date_words"), ("refusals: [", "refusals: [[", "en.y")],
)
def test_a_wrong_key_is_named(tmp_path, prompts, before, after, wrong):
    folder = tmp_path / "prompts"
    shutil.copytree(prompts, folder)
    text = (folder / "en.yaml").read_text(encoding="utf-8")
    assert before in text
    (folder / "en.yaml").write_text(text.replace(before, after), encoding="utf-8")
    with pytest.raises(InputError, match=wrong) as error:
        read_language(folder, "en")
    assert "en.yaml" in str(error.value)
