"""A turn in a chat template: on a fixed day, without reasoning, in the forms of public templates."""

import datetime

import pytest
from transformers.utils import chat_template_utils

from factdrift.core.errors import InputError
from factdrift.models.alignment import Templated
from factdrift.models.turns import Turns

from .tokenizers_of import tokenizer_of

MESSAGES = "{% for turn in messages %}<{{ turn.role }}>{{ turn.content }}</{{ turn.role }}>{% endfor %}"
CHANNELS = MESSAGES.replace("{{ turn.content }}", "{{ start if turn.role == 'assistant' }}{{ turn.content }}")
CHANNELS = (
    "{% set start = '<|channel|>final<|message|>' %}{{ reasoning_effort | default('medium') }}"
    f"{CHANNELS}{{% if add_generation_prompt %}}<assistant>{{% endif %}}"
)


def ending(end: str) -> str:
    """A template whose turns end so where the answer is to begin."""
    return f"{MESSAGES}{{% if add_generation_prompt %}}<assistant>{end}{{% endif %}}"


def switched(condition: str, off: str) -> str:
    """A template that opens reasoning unless a condition holds."""
    return ending(f"{{% if {condition} %}}{off}{{% else %}}<think>\n{{% endif %}}")


CLOSED = "<think>\n\n</think>\n\n"
TEMPLATES = {
    "switch": (switched("enable_thinking is defined and not enable_thinking", CLOSED), CLOSED),
    "granite": (switched("thinking is defined and not thinking", ""), ""),
    "command": (switched("reasoning is defined and not reasoning", "<|START_THINKING|><|END_THINKING|>"),
                "<|START_THINKING|><|END_THINKING|>"),
    "effort": (switched("reasoning_effort == 'none'", ""), ""),
    "effort in words": (switched("reasoning_effort == 'no_think'", ""), ""),
    "seed": (ending("{% if thinking_budget == 0 %}<seed:think><seed:cot_budget_reflect>{% endif %}"),
             "<seed:think><seed:cot_budget_reflect></seed:cot_budget_reflect></seed:think>"),
    "always": (ending("<think>\n"), CLOSED),
    "always on a line": (ending("<think>"), "<think></think>"),
    "mistral": (ending("[THINK]"), "[THINK][/THINK]"),
    "kimi": (ending("◁think▷"), "◁think▷◁/think▷"),
    "apriel": (ending("Here are my reasoning steps:\n"),
               "Here are my reasoning steps:\n\n[BEGIN FINAL RESPONSE]\n\n"),
    "plain": (ending(""), ""),
}  # fmt: skip


def turns_of(template: str) -> Turns:
    tokenizer = tokenizer_of("gpt2")
    tokenizer.chat_template = template
    return Turns(tokenizer, "m", "answer.chat_template")


@pytest.mark.parametrize("name", TEMPLATES)
def test_the_answer_begins_without_reasoning(name):
    template, end = TEMPLATES[name]
    turns = turns_of(template)
    assert turns.text("Who? <think>") == f"<user>Who? <think></user><assistant>{end}"
    wrapped = Templated(turns_of(template)._tokenizer, "m")
    assert wrapped.turn("Who?") == (turns.text("Who?"), len("<user>"))


def test_what_a_template_writes_before_an_answer_is_written():
    turns = turns_of(CHANNELS)
    assert turns.text("Who?") == "low<user>Who?</user><assistant><|channel|>final<|message|>"
    assert turns.blank == ""


@pytest.mark.parametrize("form", ["%d %b %Y", "%Y-%m-%d", "%B %-d, %Y", "%A", "%H:%M", "%c", "%D"])
def test_no_template_sees_the_clock(form, monkeypatch):
    class Later(datetime.datetime):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> "Later":
            return cls(2031, 5, 6, 7, 8, 9, tzinfo=tz)

    called = f"{{% macro day() %}}{{{{ strftime_now('{form}') }}}}{{% endmacro %}}"
    called += f"{{% if strftime_now is defined %}}{{{{ day() }}}}{{% endif %}} {MESSAGES}"
    messages = [{"role": "user", "content": "Who?"}]
    today = turns_of(called).text("Who?")
    monkeypatch.setattr(chat_template_utils, "datetime", Later)
    assert turns_of(called)._tokenizer.apply_chat_template(messages, tokenize=False) != today
    assert turns_of(called).text("Who?") == today
    if "%d" in form:
        assert today.startswith(datetime.datetime(2024, 7, 26).strftime(form))
        assert Templated(turns_of(called)._tokenizer, "m").turn("Who?")[0] == today


@pytest.mark.parametrize(
    "template",
    [
        "{{ raise_exception('a system first') }}",
        "{{ 1 + 'a' }}",
        "{{ messages[7].x.y }}",
        "{% if %}",
        "",
        MESSAGES.replace("content", "content | upper"),
        MESSAGES.replace("content", "content[:2]"),
    ],
)
def test_a_template_that_fails_or_changes_a_prompt_names_the_key(template):
    fault = "fails|changes the prompt 'Who"
    with pytest.raises(
        InputError, match=rf"^answer\.chat_template: the chat template of m ({fault}).* to none$"
    ):
        turns_of(template).text("Who?")


@pytest.mark.parametrize(
    ("template", "text"),
    [
        (MESSAGES.replace("turn.content", "turn.content[0].text"), "<user>Who?</user><assistant>"),
        (MESSAGES, "<user>Who?</user><assistant>"),
        (CHANNELS.partition("{% if")[0], "low<user>Who?</user><assistant><|channel|>final<|message|>"),
    ],
)
def test_older_templates_and_those_of_models_with_images(template, text):
    assert turns_of(template).text("Who?") == text
