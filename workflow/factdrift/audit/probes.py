"""Probes once more: what both dumps say of their facts, and their sentences, filled in by plain code."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from qwikidata.claim import WikidataClaim

from factdrift.audit.dates import Day
from factdrift.audit.lines import Entity
from factdrift.audit.of_updates import Dumps
from factdrift.audit.phrases import MONTHS
from factdrift.audit.sentences import BLANK, singular_forms, written_date
from factdrift.audit.values import START, ended_by, entity_of, plain, spans
from factdrift.core.columns import Row
from factdrift.core.files import read_tsv
from factdrift.core.paths import RESOURCES

KEPT = ("preserve", "specific", "history_old", "neighbor")
"""Criteria whose answers an edit must not change."""
_RULES = list(read_tsv(RESOURCES / "ripples" / "rules.tsv"))
_PASTS = {present: past for past, present in singular_forms("past").items()}
_PHRASES = {row["property"]: row for row in read_tsv(RESOURCES / "words" / "noun_phrases.tsv")}
_REVERSE = {row["property"]: row for row in read_tsv(RESOURCES / "ripples" / "reverse.tsv")}

Wording = tuple[str, str, str]
"""Prompt, rewording and question; empty where there is none."""


def only_object(updated: Row, decision: str) -> Row | None:
    values: list[Row] = [object_ for object_ in updated["objects"] if object_["decision"] == decision]
    return values[0] if len(values) == 1 else None


def statements_on(line: Entity | None, relation: str, day: Day) -> list[WikidataClaim]:
    """The statements of best rank with a value that have begun by a day and not ended."""
    group = [claim for claim in (line.of(relation) if line else ()) if claim.rank != "deprecated"]
    best = [claim for claim in group if claim.rank == "preferred"] or group
    return [claim for claim in best if claim.mainsnak.snaktype == "value" and _holds(claim, day)]


def _holds(claim: WikidataClaim, day: Day) -> bool:
    starts = spans(claim, START)
    return not ended_by(claim, day) and (not starts or min(start.last for start in starts) <= day)


def items_on(line: Entity | None, relation: str, day: Day) -> set[str]:
    """The items that hold on a day."""
    return {name for claim in statements_on(line, relation, day) if (name := entity_of(claim.mainsnak))}


def rules_along(row: Row, path: Sequence[Row]) -> Iterator[tuple[Mapping[str, str], dict[str, str]]]:
    """The rules of the table that lead along the path, each with what `s`, `o` and `z` are."""
    for rule in _RULES:
        names = {"s": row["subject"], "o": path[0]["object"]}
        premise = rule["premise"].split()
        if rule["relation"] != row["relation"] or len(path) != 1 + bool(premise):
            continue
        if premise:
            step = path[1]
            if (step["subject"], step["relation"]) != (names[premise[0]], premise[1]):
                continue
            if premise[2] == "z":
                names["z"] = step["object"]
            elif step["object"] != premise[2]:
                continue
        subject, relation, _ = rule["conclusion"].split()
        if (names[subject], relation) == (row["asked_subject"], row["asked_relation"]):
            yield rule, names


def concluded(row: Row, path: Sequence[Row]) -> set[str]:
    return {names[rule["conclusion"].split()[2]] for rule, names in rules_along(row, path)}


def right_before(row: Row, updated: Row, dumps: Dumps) -> tuple[set[str] | None, bool]:
    """What was right without the update, None where that is not known; whether K0 states another answer."""
    old, (subject, relation) = only_object(updated, "obsolete"), (row["subject"], row["relation"])
    before = bool(statements_on(dumps.old.get(subject), relation, dumps.t_old))
    if row["criterion"] in KEPT or old is None:
        # No answer follows from an old object that is not there.
        return set(), before and row["criterion"] != "compose_object"
    asked = row["asked_subject"], row["asked_relation"]
    if row["criterion"] == "compose_object":
        line = old["id"] or ""
        claims = statements_on(dumps.old.get(line), asked[1], dumps.t_old)
        now = statements_on(dumps.new.get(line), asked[1], dumps.t_new)
        return _labelled([*claims, *now], dumps), bool(claims)
    if row["criterion"] != "logical":
        return {old["id"] or plain(old["label"])}, before
    if row["kind"] == "reverse":
        stale = {answer["id"] for answer in row["stale"]}
        wrong = {
            item for item in stale if asked[0] not in items_on(dumps.old.get(item), relation, dumps.t_old)
        }
        return stale - wrong, before or bool(stale)
    claims = statements_on(dumps.old.get(asked[0]), asked[1], dumps.t_old)
    if row["kind"] == "rule":
        for rule, names in rules_along(row, row["path"]):
            premise = rule["premise"].split()
            if "z" in names and rule["conclusion"].startswith("s"):
                line = dumps.old.get({**names, "o": old["id"] or ""}[premise[0]])
                values = [
                    claim
                    for claim in statements_on(line, premise[1], dumps.t_old)
                    if entity_of(claim.mainsnak)
                ]
                claims += values if len({entity_of(value.mainsnak) for value in values}) == 1 else []
        return _labelled(claims, dumps), any(entity_of(claim.mainsnak) for claim in claims)
    return _labelled(claims, dumps), before or bool(claims)


def _labelled(claims: Sequence[WikidataClaim], dumps: Dumps) -> set[str]:
    """The items of statements that have a label, and dates, as the answers name them."""
    names = set()
    for claim in claims:
        if (item := entity_of(claim.mainsnak)) is not None:
            names |= {item} if dumps.name_of(item)[0] else set()
        elif claim.mainsnak.value_datatype == "time":
            names.add(written_date(claim.mainsnak.datavalue.value) or "")
    return names - {""}


# --- sentences ------------------------------------------------------------------------------------------


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
