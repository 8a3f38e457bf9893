"""Prompts in chat templates: tokens as transformers renders a conversation, subject and target in it."""

import copy
from typing import Any

import pytest

from factdrift.core.errors import InputError
from factdrift.models.alignment import AlignmentError, Templated, align

from .tokenizers_of import END, tokenizer_of

TURNS = (
    "{% for turn in messages %}<|{{ turn.role }}|>\n{{ turn.content }}" + END + "\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)
TRIMMED = (
    "{{ bos_token }}<sys>A person asks.</sys>{% for turn in messages %}<{{ turn.role }}>"
    "{{ turn.content | trim }}</{{ turn.role }}>{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)
BLANK = (
    "{% for turn in messages %}{% if turn.role == 'user' %}{{ bos_token }}[I] {{ turn.content }} [/I]"
    "{% else %} {{ turn.content }} {{ eos_token }}{% endif %}{% endfor %}"
)
THINKING = TURNS.replace(
    "<|assistant|>\n{% endif %}",
    "<|assistant|>\n{% if enable_thinking is defined and not enable_thinking %}<t></t>{% endif %}{% endif %}",
)
TEMPLATES = {"turns": TURNS, "trimmed": TRIMMED, "blank": BLANK, "thinking": THINKING}
PROMPT, SUBJECT, TARGET = "The mother of Joe Biden, Joe, is", "Joe Biden", "Kevin De Bruyne"


def with_template(kind: str, template: str) -> tuple[Any, Templated]:
    """A tokenizer with a template, and the same as align takes it."""
    tokenizer = tokenizer_of(kind)
    tokenizer.chat_template = template
    return tokenizer, Templated(tokenizer, "m")


def conversation(tokenizer: Any, content: str) -> list[int]:
    """The tokens of transformers up to the answer."""
    ids: list[int] = tokenizer.apply_chat_template(
        [{"role": "user", "content": content}],
        add_generation_prompt=True,
        enable_thinking=False,
        return_dict=False,
    )
    return ids


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize(
    ("kind", "context"),
    [("llama3", ""), ("closing", "It rains. "), ("trimmed", ""), ("gpt2", "\n It rains.\n")],
)
def test_the_tokens_are_those_of_the_conversation(kind, context, template):
    tokenizer, wrapped = with_template(kind, TEMPLATES[template])
    asked = align(wrapped, PROMPT, subject=SUBJECT, context=context)
    assert list(asked.ids) == conversation(tokenizer, (context + PROMPT).strip())
    assert asked.target == len(asked.ids)
    found = align(wrapped, PROMPT, TARGET, subject=SUBJECT, context=context)
    assert found.ids[: found.target] == asked.ids
    said = tokenizer.decode(list(found.ids[found.target :]))
    assert said == (f" {TARGET}" if template == "blank" else TARGET)
    assert found.subject_last == asked.subject_last is not None
    before = tokenizer.decode(list(found.ids[: found.subject_last + 1]))
    assert before.endswith(context.lstrip() + "The mother of Joe Biden")


def test_a_subject_that_the_template_says_too_is_that_of_the_prompt():
    told = "{% for turn in messages %}About Joe Biden is: {{ turn.content }} Joe Biden.{% endfor %}\n"
    tokenizer, wrapped = with_template("gpt2", told)
    found = align(wrapped, "Now Joe Biden is in", "Gent", subject=SUBJECT)
    assert found.subject_last is not None
    assert tokenizer.decode(list(found.ids[: found.subject_last + 1])) == "About Joe Biden is: Now Joe Biden"


def test_borders_are_checked_as_in_plain_prompts():
    _, wrapped = with_template("gpt2", "Q {{ messages[0].content }} is Jo")
    with pytest.raises(AlignmentError) as caught:
        align(wrapped, PROMPT, "e Biden")
    assert caught.value.reason == "target_merged"
    with pytest.raises(AlignmentError) as caught:
        align(wrapped, PROMPT, subject="Atlantis")
    assert caught.value.reason == "subject_missing"


@pytest.mark.parametrize(
    ("template", "message"),
    [
        (None, "the tokenizer of m has no chat template"),
        ("{{ messages[0].content * 2 }}", "not repeat a user's turn once"),
        (
            "{% for turn in messages %}{{ turn.content | replace('Biden', 'B.') }}{% endfor %}",
            "the chat template of m changes the prompt 'The",
        ),
        ("{{ raise_exception('a system first') }}", "fails (TemplateError: a system first)"),
    ],
)
def test_what_cannot_render_a_prompt_is_refused(template, message):
    with pytest.raises(InputError) as caught:
        align(with_template("gpt2", template)[1], PROMPT, TARGET)  # type: ignore[arg-type]
    assert str(caught.value).startswith("edit.template: ")
    assert message in str(caught.value)


def test_all_else_is_the_tokenizers():
    tokenizer, wrapped = with_template("llama3", TURNS)
    assert wrapped("Joe")["input_ids"] == tokenizer("Joe")["input_ids"]
    assert align(copy.deepcopy(wrapped), PROMPT, TARGET) == align(wrapped, PROMPT, TARGET)
    assert wrapped.tokens == len(conversation(tokenizer, PROMPT)) - len(tokenizer(PROMPT)["input_ids"])
