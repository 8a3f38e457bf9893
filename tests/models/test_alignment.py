"""Subject and target are found by offsets, or not at all."""

import re
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples
from tokenizers import Regex, Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from factdrift.models.alignment import AlignmentError, align, find_subject

from .tokenizers_of import END, KINDS, tokenizer_of

made = cache(tokenizer_of)


def text(tokenizer: Any, ids: tuple[int, ...]) -> str:
    decoded: str = tokenizer.decode(list(ids), skip_special_tokens=True)
    return decoded


@pytest.mark.parametrize(
    ("prompt", "subject", "before"),
    [
        ("Joe Biden is head of", "Joe Biden", "Joe Biden"),
        ("Björk's mother is", "Björk", "Björk"),
        ("In Gent (the city) lies", "Gent (the city)", "In Gent (the city)"),
        ("New York is in New York and", "New York", "New York is in New York"),
        ("The country of 中中 is", "中中", "The country of 中中"),
    ],
)
def test_subject_and_target_where_no_pieces_are_cut_beforehand(prompt, subject, before):
    """Of the other tokenizers any names are tried below."""
    tokenizer = made("llama2")
    found = align(tokenizer, prompt, "Joe Biden", subject=subject)
    assert found.subject_last is not None
    assert text(tokenizer, found.ids[: found.subject_last + 1]).strip() == before
    assert text(tokenizer, found.ids[found.target :]).strip() == "Joe Biden"


WORD = st.text("abcdeéößABC'’().-中", min_size=1, max_size=6)
NAME = st.lists(WORD, min_size=1, max_size=3).map(" ".join)


@settings(max_examples=examples(150))
@given(
    kind=st.sampled_from(KINDS[:4]),
    context=st.sampled_from(["", "It rains. ", "Björk. "]),
    before=st.sampled_from(["", "The team of ", "(", "Is "]),
    subject=NAME,
    after=st.sampled_from([" is", "'s team is", ", who plays for", ") is in"]),
    target=NAME,
)
def test_any_names(kind, context, before, subject, after, target):
    """What is found is the text that it stands for; nothing is found only if a token crosses a border."""
    tokenizer = made(kind)
    prompt = before + subject + after
    whole = tokenizer(f"{context}{prompt} {target}")["input_ids"]
    end = find_subject(prompt, subject) + len(subject)
    if _crossed(tokenizer, context + prompt, len(context) + end, len(subject)):
        with pytest.raises(AlignmentError) as caught:
            align(tokenizer, prompt, target, subject=subject, context=context)
        assert caught.value.reason == "subject_merged"
        return
    found = align(tokenizer, prompt, target, subject=subject, context=context)
    assert list(found.ids) == whole[: len(found.ids)]
    assert set(whole[len(found.ids) :]) <= {0}
    assert text(tokenizer, found.ids[found.target :]).strip() == target
    assert text(tokenizer, found.ids[: found.target]) == context + prompt
    assert found.subject_last is not None
    assert text(tokenizer, found.ids[: found.subject_last + 1]) == context + prompt[:end]


def _crossed(tokenizer: Any, before: str, end: int, length: int) -> bool:
    """Whether a token holds the last letter of `before[end - length : end]` and something around it."""
    pieces = tokenizer(before, return_offsets_mapping=True)["offset_mapping"]
    first, last = max((piece for piece in pieces if piece[0] < end <= piece[1]), key=lambda piece: piece[1])
    return last > end or bool(before[first : end - length].strip())


@pytest.mark.parametrize(
    ("prompt", "subject", "place"),
    [
        ("Java, which is older than JavaScript, was made by", "Java", 0),
        *(("Java, unlike Java, was made by", "Java", 13), ("The team of Ana Anaya Ana's is", "Ana", 22)),
        *(("The exgovernment is", "government", 6), ("首都北京的市长是", "北京", 2)),
        *(("Björk's mother is", "Björk", 0), ("Ko is in Koko", "Ko", 0), ("U.S. is led by", "U.S.", 0)),
        *(("nothing", "Java", -1), ("nothing", "", -1)),
    ],
)
def test_the_subject_is_its_last_occurrence_that_is_no_part_of_a_word(prompt, subject, place):
    assert find_subject(prompt, subject) == place


@pytest.mark.parametrize("kind", KINDS)
def test_without_target_and_subject(kind):
    tokenizer = made(kind)
    found = align(tokenizer, "The head of")
    assert found.subject_last is None
    assert found.target == len(found.ids)
    assert text(tokenizer, found.ids).strip() == "The head of"
    assert (found.ids[0] == 0) == (kind in ("llama3", "closing", "llama2"))
    assert found.ids[-1] != 0


@pytest.mark.parametrize(
    ("prompt", "subject", "reason"),
    [
        ("The team of Kevin on", "", "subject_missing"),
        ("Kevin on", "it Kevin", "subject_missing"),
        ("The governments of it on", "government", "subject_merged"),
        ("The mayor of D.C.'s team on", "D.C.", "subject_merged"),
        ("The exgovernment on", "government", "subject_merged"),
        ("The team is", "team", "target_merged"),
    ],
)
def test_reasons_of_sentences_that_cannot_be_aligned(prompt, subject, reason):
    tokenizer = words_of("government", "governments", "exgovernment", "D.C", ".'", "s", "is it")
    with pytest.raises(AlignmentError) as caught:
        align(tokenizer, prompt, "it", subject=subject, context="it ")
    assert caught.value.reason == reason


def words_of(*words: str) -> Any:
    """A tokenizer that knows these words as tokens, however they are cut."""
    numbers = {word: at for at, word in enumerate((END, *words))}
    core = Tokenizer(models.WordLevel(numbers, unk_token=END))
    longest = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
    core.pre_tokenizer = pre_tokenizers.Split(Regex(rf"{longest}|\w+|\W"), "isolated")
    return PreTrainedTokenizerFast(tokenizer_object=core)
