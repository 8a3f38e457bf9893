"""The sentences of probes once more: templates, noun phrases, dates and names, filled in by plain code."""

from collections.abc import Iterator, Sequence
from itertools import product

from factdrift.audit.of_updates import Dumps
from factdrift.audit.phrases import MONTHS
from factdrift.audit.sentences import BLANK, singular_forms
from factdrift.core.columns import Row
from factdrift.core.files import read_tsv
from factdrift.core.paths import RESOURCES

_PASTS = {present: past for past, present in singular_forms("past").items()}
_PHRASES = {row["property"]: row for row in read_tsv(RESOURCES / "words" / "noun_phrases.tsv")}
_REVERSE = {row["property"]: row for row in read_tsv(RESOURCES / "ripples" / "reverse.tsv")}

Wording = tuple[str, str, str]
"""Prompt, rewording and question; empty where there is none."""


def misworded(row: Row, updated: Row, dumps: Dumps) -> Iterator[str]:
    """What is wrong with prompt, rewording, question and the prompts of the conditions of a probe.

    They are compared without articles, with verbs in the singular. `updated`: the update in the dataset.
    """
    templates = dumps.templates
    own = (row["prompt"], row["rewording"] or "", row["question"] or "")
    if row["criterion"] == "neighbor":
        yield from _of_neighbour(row, dumps)
    else:
        due = [tuple(map(templates.bare, wording)) for wording in _wordings(row, updated, dumps)]
        if tuple(map(templates.bare, own)) not in due and (due or templates.are_known):
            yield f"{own} are not the sentences of {row['criterion']}, such as {due[:1]}"
    for condition in row["conditions"]:
        step, prompt = condition["step"], templates.bare(condition["prompt"])
        texts = templates.filled(step["relation"], dumps.name_of(step["subject"])[0])[:1]
        if row["criterion"] in ("specific", "neighbor", "history_old"):
            texts = [row["prompt"]]
        if texts and prompt != templates.bare(texts[0]):
            asked = f"{step['relation']} of {step['subject']}"
            yield f"the condition {condition['prompt']!r} does not ask for {asked}"


def _of_neighbour(row: Row, dumps: Dumps) -> Iterator[str]:
    lines = dumps.lines_of(row["asked_subject"])
    relation = {"id": row["asked_relation"], "label": dumps.name_of(row["asked_relation"])[0]}
    reasons = [
        dumps.templates.misfit(
            row["prompt"], relation, {"label": line.label, "description": line.description}
        )
        for line in lines
        if line.label
    ]
    if reasons and all(reasons):
        yield str(reasons[0])
    if row["rewording"] is not None or row["question"] is not None:
        yield f"a fact of a neighbour has one wording, not {row['rewording']!r} and {row['question']!r}"


def _wordings(row: Row, updated: Row, dumps: Dumps) -> Iterator[Wording]:
    """The sentences that a probe may have; none where the templates of the build are not known."""
    templates, criterion = dumps.templates, row["criterion"]
    label = dumps.name_of(row["asked_subject"])[0]
    if criterion.startswith("compose"):
        first, last = row["path"][0], row["path"][-1]
        relations, start = [first["relation"], last["relation"]], dumps.name_of(first["subject"])[0]
        yield f"{_phrase(relations, start)} is {BLANK}", "", _question(relations, start)
    elif row["kind"] == "reverse" and row["relation"] in _REVERSE:
        texts = [_REVERSE[row["relation"]][name] for name in ("sentence", "rewording")]
        prompt, rewording = (text.replace("{object}", label).replace("{subject}", BLANK) for text in texts)
        yield prompt, rewording, ""
    elif not templates.are_known:
        return
    elif criterion.startswith("history") and row["date"]:
        year, month = map(int, row["date"].split("-"))
        when = f"In {MONTHS[month - 1]} {year}, "
        dated = [
            [when + text for text in _past(template)] for template in templates.filled(row["relation"], label)
        ]
        dated = [texts_of_month for texts_of_month in dated if texts_of_month]
        for index, prompts in enumerate(dated):
            others = [text for texts_of_month in dated[index + 1 : index + 2] for text in texts_of_month]
            yield from ((prompt, other, "") for prompt in prompts for other in (*others, ""))
    elif criterion == "preserve":
        names = [object_["label"] for object_ in updated["objects"] if object_["decision"] == "new"]
        texts = templates.filled(row["relation"], label)[:2]
        if names and texts:
            listed = " and ".join([*([", ".join(names[:-1])] if names[:-1] else []), names[-1]])
            texts = [f"Besides {listed}, {text}" for text in texts]
        if not names:
            texts = texts[1:]
        yield texts[0] if texts else "", "".join(texts[1:]), ""
    else:
        subjects = sorted(dumps.name_of(row["subject"])[1]) if criterion == "alias" else [label]
        for name in subjects:
            texts = [*templates.filled(row["asked_relation"], name)[:2], "", ""]
            yield texts[0], texts[1], _question([row["asked_relation"]], name)


def _phrase(relations: Sequence[str], name: str) -> str:
    for relation in relations:
        name = _PHRASES[relation]["phrase"].replace("{x}", name) if relation in _PHRASES else ""
    return name


def _question(relations: Sequence[str], name: str) -> str:
    if any(relation not in _PHRASES for relation in relations):
        return ""
    return f"{_PHRASES[relations[-1]]['wh']} is {_phrase(relations, name)}?"


def _past(text: str) -> Iterator[str]:
    """The sentence with one or more of its verbs in the past, whichever of its words are verbs."""
    forms = [[word, _PASTS[word]] if word in _PASTS else [word] for word in text.split(" ")]
    yield from (" ".join(words) for words in product(*forms) if words != tuple(text.split(" ")))
