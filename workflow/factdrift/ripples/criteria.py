"""The probes of one update, by criterion, and why its other candidates are none."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from factdrift.core.columns import Row
from factdrift.ripples.conclusions import Conclusion, conclusions
from factdrift.ripples.rows import Candidate, ProbeQuestion, answer, condition_of, step, step_of
from factdrift.ripples.tables import MUST_CHANGE, Relations
from factdrift.ripples.tenure import Window, month_of
from factdrift.ripples.words import Sentence, Words, contains_name, usable_alias
from factdrift.ripples.world import Fact, Name, Update, World, number_of
from factdrift.words.mentions import name_key
from factdrift.words.names import PLAIN

CLASS_RELATIONS = (31, 279)
"""What something is an instance or a subclass of is no fact that an update could change."""


class Inputs(NamedTuple):
    """Words, relations and days of probes, the same for all updates."""

    words: Words
    relations: Relations
    t_old: int
    t_new: int
    seed: int


class Maker:
    """The probes of the updates of a world; `dropped` counts (criterion, relation, reason)."""

    def __init__(self, world: World, inputs: Inputs, dropped: Counter[tuple[str, str, str]]) -> None:
        self._world, self._inputs, self._words, self._dropped = world, inputs, inputs.words, dropped

    def probes(self, update: Update) -> list[Row]:
        """The probes of an update, in the order of criteria and of their facts."""
        rows: list[Row] = []
        prompts: set[str] = set()
        for criterion, candidates in self._candidates(update):
            for candidate in candidates:
                row = self._row(update, criterion, candidate, prompts)
                if isinstance(row, str):
                    self._dropped[criterion, f"P{update.property}", row] += 1
                else:
                    prompts.add(row["prompt"])
                    rows.append(row)
        return rows

    def _candidates(self, update: Update) -> Iterator[tuple[str, Iterable[Candidate]]]:
        new, old = update.single("new"), update.single("obsolete")
        if update.scenario == "ReplaceObject" and new is not None and old is not None:
            derived = conclusions(self._world, update, number_of(new), number_of(old), self._inputs.relations)
            yield "alias", self._alias(update, new, old)
            yield "logical", (self._logical(update, new, conclusion) for conclusion in derived)
            yield "compose_object", self._compose_object(update, new, old)
            yield "compose_subject", self._compose_subject(update, new, old)
            yield "specific", self._specific(update, new, derived)
            yield "history_old", self._history("history_old", update, new, old)
            yield "history_new", self._history("history_new", update, new, old)
            yield "neighbor", self._neighbor(update, new, derived)
        elif update.scenario == "AddEntity" and new is not None and old is None:
            yield "compose_object", self._compose_object(update, new, None)
        yield "preserve", self._preserve(update)

    def _row(self, update: Update, criterion: str, candidate: Candidate, prompts: set[str]) -> Row | str:
        """The row of a candidate that passes what all criteria ask, else the reason why it does not."""
        if isinstance(candidate, str):
            return candidate
        if (sentence := candidate.sentence) is None:
            return "no_words"
        if candidate.subject in self._world.gone:
            return "gone"
        names = [name for value in candidate.answers for name in (value["label"], *value["aliases"])]
        if any(contains_name(text, names) for text in (sentence.prompt, sentence.rewording)):
            return "names_answer"
        right = {name_key(value["label"]) for value in candidate.answers}
        if any(name_key(value["label"]) in right for value in candidate.stale):
            return "same_answer"
        if sentence.prompt in prompts:
            return "same_sentence"
        parts = (update.name, criterion, candidate.kind, sentence.prompt)
        return {
            "probe_id": hashlib.sha256("|".join(parts).encode()).hexdigest()[:16],
            "update": update.name,
            "subject": f"Q{update.subject}",
            "relation": f"P{update.property}",
            "scenario": update.scenario,
            "criterion": criterion,
            "kind": candidate.kind or None,
            "place": 0,
            "path": list(candidate.path),
            "asked_subject": f"Q{candidate.subject}",
            "asked_relation": f"P{candidate.relation}",
            "prompt": sentence.prompt,
            "rewording": sentence.rewording or None,
            "question": sentence.question or None,
            "answers": list(candidate.answers),
            "stale": list(candidate.stale),
            "conditions": list(candidate.conditions),
            "must_change": (candidate.was_other or None) if criterion in MUST_CHANGE else False,
            "date": candidate.date,
            "popularity": candidate.popularity,
        }

    def _updated(self, update: Update, new: Row) -> Row:
        return step(update.subject, update.property, new["id"], new["new_statement"], "new")

    def _was_other(self, update: Update) -> bool:
        """Whether the old dump states an object of the update's relation, which is not the new one."""
        return any(fact.old_values for fact in self._world.of(update.subject, update.property))

    def _name(self, item: Row) -> Name:
        """The name of an object of the dataset."""
        known = self._world.names.get(number_of(item) or 0)
        return known or Name(item["label"], (), PLAIN, 0)

    def _answer(self, item: Row) -> Row:
        return answer(number_of(item), self._name(item))

    def _alias(self, update: Update, new: Row, old: Row) -> Iterator[Candidate]:
        if (subject := self._world.names.get(update.subject)) is None:
            yield "no_label"
            return
        former = {name_key(name) for name in self._world.former.get(update.subject, ())}
        for alias in dict.fromkeys(subject.aliases):
            key = name_key(alias)
            if (
                not usable_alias(alias, subject.label)
                or any(name == key or name.startswith(f"{key} ") for name in former)
                or self._world.known_names.get(alias.lower(), 1) > 1
            ):
                yield "no_name"
                continue
            sentence = self._words.cloze(update.property, self._words.alias(alias), self._name(new))
            asked = (update.subject, update.property, sentence, [self._answer(new)])
            stale, other = [self._answer(old)], self._was_other(update)
            yield ProbeQuestion(*asked, [self._updated(update, new)], stale=stale, was_other=other)

    def _logical(self, update: Update, new: Row, conclusion: Conclusion) -> Candidate:
        if conclusion.problem:
            return conclusion.problem
        names = self._world.names
        subject, value = names.get(conclusion.subject), names.get(conclusion.answer)
        if subject is None or value is None:
            return "no_label"
        if conclusion.subject != update.subject and conclusion.subject in self._world.ambiguous:
            return "ambiguous"
        if conclusion.kind == "reverse":
            texts = self._inputs.relations.reverse[update.property]
            sentence: Sentence | None = self._words.reverse(texts, subject, value)
        else:
            sentence = self._words.cloze(conclusion.relation, subject, value)
        conditions = [self._condition(fact) for fact in conclusion.premises]
        if None in conditions:
            return "no_words"
        return ProbeQuestion(
            conclusion.subject,
            conclusion.relation,
            sentence,
            [answer(conclusion.answer, value)],
            [self._updated(update, new), *(step_of(fact, "new") for fact in conclusion.premises)],
            kind=conclusion.kind,
            stale=[answer(item, names[item]) for item in conclusion.stale if item in names],
            conditions=[condition for condition in conditions if condition],
            # Whoever draws the conclusion of a rule may have been right before: a member before the chair.
            was_other=bool(conclusion.stale) or (conclusion.kind != "rule" and self._was_other(update)),
        )

    def _condition(self, fact: Fact) -> Row | None:
        """A fact that the unedited model must give right, with the cloze that asks for it."""
        subject, value = self._world.names.get(fact.subject), self._world.value(fact)
        if subject is None or value is None:
            return None
        if (sentence := self._words.cloze(fact.property, subject, value)) is None:
            return None
        return condition_of(sentence, [answer(fact.object, value)], step_of(fact, "old"))

    def _compose_object(self, update: Update, new: Row, old: Row | None) -> Iterator[Candidate]:
        subject, added = self._world.names.get(update.subject), number_of(new)
        gone = number_of(old) if old is not None else None
        if subject is None or added is None:
            return
        for relation in self._world.about.get(added, {}):
            if relation not in self._words.phrases:
                continue
            fact = self._world.unchanged(added, relation)
            if isinstance(fact, str):
                yield fact
            elif (value := self._world.value(fact)) is None:
                yield "no_label"
            elif (condition := self._condition(fact)) is None:
                yield "no_words"
            else:
                earlier = self._world.of(gone, relation) if gone is not None else ()
                known = [(before.object, self._world.value(before)) for before in earlier]
                yield ProbeQuestion(
                    added,
                    relation,
                    self._words.composed([update.property, relation], subject, value),
                    [answer(fact.object, value)],
                    [self._updated(update, new), step_of(fact, "new")],
                    stale=[answer(item, name) for item, name in known if name],
                    conditions=[condition],
                    was_other=any(before.old_values for before in earlier),
                    popularity=value.sitelinks,
                )

    def _compose_subject(self, update: Update, new: Row, old: Row) -> Iterator[Candidate]:
        if update.subject not in self._world.names:
            return
        for fact in self._world.pointing.get(update.subject, ()):
            if fact.property not in self._words.phrases:
                continue
            if reason := self._first_hop(update, fact):
                yield reason
            elif (other := self._world.names.get(fact.subject)) is None:
                yield "no_label"
            elif (condition := self._condition(fact)) is None:
                yield "no_words"
            else:
                yield ProbeQuestion(
                    update.subject,
                    update.property,
                    self._words.composed([fact.property, update.property], other, self._name(new)),
                    [self._answer(new)],
                    [step_of(fact, "new"), self._updated(update, new)],
                    stale=[self._answer(old)],
                    conditions=[condition],
                    was_other=self._was_other(update),
                    popularity=fact.sitelinks,
                )

    def _first_hop(self, update: Update, fact: Fact) -> str | None:
        if fact.gone:
            return "gone"
        if fact.subject in self._world.ambiguous:
            return "ambiguous"
        if fact.subject == update.subject:
            return "same_item"
        return None if fact.stays else "not_unique" if fact.new_values else "not_before"

    def _preserve(self, update: Update) -> Iterator[Candidate]:
        subject, group = self._world.names.get(update.subject), (update.subject, update.property)
        added = [value for value in update.objects if value["decision"] == "new"]
        static = [value for value in update.objects if value["decision"] == "static"]
        if subject is None or len(static) == len(update.objects) or not any(value["id"] for value in static):
            return
        now = [fact for fact in self._world.of(*group) if fact.new_statement and fact.object is not None]
        others = [fact for fact in now if all(f"Q{fact.object}" != value["id"] for value in added)]
        kept = [fact for fact in others if fact.old_statement]
        if not kept:
            yield "not_before"
            return
        names = {fact: name for fact in others if (name := self._world.value(fact))}
        if len(names) < len(others):
            yield "no_label"
            return
        answers = {fact: answer(fact.object, name) for fact, name in names.items()}
        articles = {name.usage.article for name in names.values()}
        shown = Name("", (), PLAIN._replace(article=articles.pop() if len(articles) == 1 else ""), 0)
        asked = self._words.cloze(update.property, subject, shown)
        if asked is None or not (added or asked.rewording):
            yield "no_words"
            return
        # The edit teaches another answer to its own words.
        sentence = Sentence(asked.rewording)
        if added:
            besides = [self._name(value) for value in added]
            sentence = self._words.besides(update.property, subject, shown, besides)
        conditions = [condition_of(asked, [answers[fact] for fact in kept], step_of(kept[0], "old"))]
        path = [step_of(fact, "new") for fact in others]
        yield ProbeQuestion(*group, sentence, list(answers.values()), path, conditions=conditions)

    def _specific(self, update: Update, new: Row, derived: Sequence[Conclusion]) -> Iterator[Candidate]:
        if (subject := self._world.names.get(update.subject)) is None:
            return
        for relation in self._world.about.get(update.subject, {}):
            if relation == update.property or relation in CLASS_RELATIONS:
                continue
            fact = self._world.unchanged(update.subject, relation)
            if isinstance(fact, str):
                yield fact
                continue
            same = fact.item is not None and fact.item == new["id"]
            if reason := self._touched((update.subject, relation), same, derived):
                yield reason
            elif (value := self._world.value(fact)) is None:
                yield "no_label"
            else:
                sentence = self._words.cloze(relation, subject, value)
                answers, now = [answer(fact.object, value)], [step_of(fact, "new")]
                known = [condition_of(sentence, answers, step_of(fact, "old"))] if sentence else ()
                asked = (update.subject, relation, sentence, answers)
                yield ProbeQuestion(*asked, now, conditions=known, popularity=value.sitelinks)

    def _touched(self, group: tuple[int, int], same: bool, derived: Sequence[Conclusion]) -> str | None:
        """Why an update may change a fact; `same`: its answer is the new object."""
        if group in self._world.updated:
            return "is_update"
        if same:
            return "new_object"
        return "derived" if any((known.subject, known.relation) == group for known in derived) else None

    def _history(self, criterion: str, update: Update, new: Row, old: Row) -> Iterator[Candidate]:
        subject = self._world.names.get(update.subject)
        stated = self._world.stated.get((update.subject, update.property), ())
        if subject is None or number_of(new) is None or number_of(old) is None:
            return
        added, gone = new["id"], old["id"]
        t_old, t_new = self._inputs.t_old, self._inputs.t_new
        if criterion == "history_old":
            holder, key, window = old, gone, Window(t_old, t_new, -(10**15), t_old - 1)
            facts = self._world.of(update.subject, update.property)
            known = next((fact for fact in facts if fact.key == gone and fact.old_statement), None)
            if known is None:
                yield "not_before"
                return
        else:
            holder, key, window, known = new, added, Window(t_old, t_new, t_old + 1, t_new), None
        draw = f"{self._inputs.seed}:{criterion}:{update.name}"
        month = month_of(stated, key, gone, added, window, draw, known and known.old_statement)
        if month is None:
            yield "undated"
            return
        sentence = self._words.past(update.property, subject, self._name(holder), month.words)
        answers = [self._answer(holder)]
        path = step(update.subject, update.property, holder["id"], month.statement, month.dump)
        asked = (update.subject, update.property, sentence, answers, [path])
        yield ProbeQuestion(
            *asked,
            date=month.date,
            stale=() if holder is old else [self._answer(old)],
            conditions=[condition_of(sentence, answers, step_of(known, "old"))] if known and sentence else (),
            was_other=self._was_other(update),
        )

    def _neighbor(self, update: Update, new: Row, derived: Sequence[Conclusion]) -> Iterator[Candidate]:
        for kind, facts in (("nearest", update.nearest), ("random", update.random)):
            for near in facts or ():
                value = near["objects"][0]
                group = subject, relation = int(near["subject"]["id"][1:]), int(near["relation"]["id"][1:])
                fact = self._world.unchanged(*group)
                if reason := self._touched(group, value["object"]["label"] == new["label"], derived):
                    yield reason
                    continue
                if isinstance(fact, str):
                    yield fact
                    continue
                if (value["object"]["id"] or value["statement"]) != (fact.item or fact.old_statement):
                    yield "not_before"
                    continue
                sentence, answers = Sentence(value["prompt"]), [self._answer(value["object"])]
                known = self._world.names.get(subject)
                before = [condition_of(sentence, answers, step_of(fact, "old"))]
                asked = (subject, relation, sentence, answers, [step_of(fact, "new")], kind)
                yield ProbeQuestion(*asked, conditions=before, popularity=known.sitelinks if known else 0)
