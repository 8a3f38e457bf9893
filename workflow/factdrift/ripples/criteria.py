"""The probes of one update, by criterion, and why its other candidates are none."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from factdrift.ripples.asked import Asked, Means, Row, answer, condition_of, number_of, step, step_of
from factdrift.ripples.conclusions import Conclusion, conclusions
from factdrift.ripples.tables import MUST_CHANGE
from factdrift.ripples.tenure import Window, month_of
from factdrift.ripples.words import Sentence, names_one, usable_alias
from factdrift.ripples.world import Fact, Name, Update, World
from factdrift.words.mentions import name_key
from factdrift.words.names import PLAIN

CLASS_RELATIONS = (31, 279)
"""What something is an instance or a subclass of is no fact that an update could change."""


class Maker:
    """The probes of the updates of a world; `dropped` counts (criterion, relation, reason)."""

    def __init__(self, world: World, means: Means, dropped: Counter[tuple[str, str, str]]) -> None:
        self._world, self._means, self._words, self._dropped = world, means, means.words, dropped

    def probes(self, update: Update) -> list[Row]:
        """The probes of an update, in the order of criteria and of their facts."""
        found = list(self._of_replacement(update) if update.scenario == "ReplaceObject" else ())
        found += self._checked(update, self._preserve(update))
        return found

    def _drop(self, update: Update, criterion: str, reason: str) -> None:
        self._dropped[criterion, f"P{update.property}", reason] += 1

    def _of_replacement(self, update: Update) -> Iterator[Row]:
        new, old = update.one("new"), update.one("obsolete")
        if new is None or old is None:
            return
        derived = conclusions(self._world, update, number_of(new), number_of(old), self._means.relations)
        asked = [
            *self._alias(update, new),
            *self._logical(update, new, derived),
            *self._compose_object(update, new, old),
            *self._compose_subject(update, new, old),
            *self._specific(update, new, derived),
            *self._history(update, new, old),
            *self._neighbor(update, new, derived),
        ]
        yield from self._checked(update, asked)

    def _checked(self, update: Update, asked: Iterable[Asked]) -> Iterator[Row]:
        """Rows of the candidates that pass what all criteria ask."""
        seen: set[str] = set()
        for each in asked:
            reason = self._problem(each, seen)
            if reason is not None:
                self._drop(update, each.criterion, reason)
                continue
            sentence = each.sentence
            assert sentence is not None
            seen.add(sentence.prompt)
            names = (update.name, each.criterion, each.kind, sentence.prompt)
            yield {
                "probe_id": hashlib.sha256("|".join(names).encode()).hexdigest()[:16],
                "update": update.name,
                "subject": f"Q{update.subject}",
                "relation": f"P{update.property}",
                "scenario": update.scenario,
                "criterion": each.criterion,
                "kind": each.kind or None,
                "place": 0,
                "path": list(each.path),
                "asked_subject": f"Q{each.subject}",
                "asked_relation": None if each.relation is None else f"P{each.relation}",
                "prompt": sentence.prompt,
                "rewording": sentence.rewording or None,
                "question": sentence.question or None,
                "answers": list(each.answers),
                "stale": list(each.stale),
                "conditions": list(each.conditions),
                "must_change": each.criterion in MUST_CHANGE,
                "date": each.date,
                "popularity": each.popularity,
            }

    def _problem(self, each: Asked, seen: set[str]) -> str | None:
        if each.sentence is None:
            return "no_words"
        if each.subject in self._world.gone:
            return "gone"
        names = [name for one in each.answers for name in (one["label"], *one["aliases"])]
        if any(names_one(text, names) for text in (each.sentence.prompt, each.sentence.rewording)):
            return "names_answer"
        if each.criterion in MUST_CHANGE:
            right = {name_key(one["label"]) for one in each.answers}
            if any(name_key(one["label"]) in right for one in each.stale):
                return "same_answer"
        return "same_sentence" if each.sentence.prompt in seen else None

    def _updated(self, update: Update, new: Row) -> Row:
        return step(update.subject, update.property, new["id"], new["new_statement"], "new")

    def _name(self, item: Row) -> Name:
        """The name of an object of the dataset."""
        number = number_of(item)
        known = None if number is None else self._world.names.get(number)
        return known or Name(item["label"], (), PLAIN, 0)

    def _alias(self, update: Update, new: Row) -> Iterator[Asked]:
        subject, name = self._world.names.get(update.subject), self._name(new)
        if subject is None:
            return self._drop(update, "alias", "no_label")
        former = {name_key(each) for each in self._world.former.get(update.subject, ())}
        old = update.one("obsolete")
        for alias in dict.fromkeys(subject.aliases):
            key = name_key(alias)
            if (
                not usable_alias(alias, subject.label)
                or any(each == key or each.startswith(f"{key} ") for each in former)
                or self._world.known_names.get(alias.lower(), 1) > 1
            ):
                self._drop(update, "alias", "no_name")
                continue
            usage = self._words.usage(alias)
            sentence = self._words.cloze(update.property, Name(alias, (), usage, 0), name)
            stale = [answer(number_of(old), self._name(old))] if old else []
            yield Asked(
                *("alias", "", update.subject, update.property, sentence),
                [answer(number_of(new), name)],
                [self._updated(update, new)],
                stale,
            )

    def _logical(self, update: Update, new: Row, derived: Sequence[Conclusion]) -> Iterator[Asked]:
        for each in derived:
            if each.problem:
                self._drop(update, "logical", each.problem)
                continue
            subject, value = self._world.names.get(each.subject), self._world.names.get(each.answer)
            if subject is None or value is None:
                self._drop(update, "logical", "no_label")
                continue
            if each.subject != update.subject and each.subject in self._world.ambiguous:
                self._drop(update, "logical", "ambiguous")
                continue
            if each.kind == "reverse":
                texts = self._means.relations.reverse[update.property]
                sentence: Sentence | None = self._words.reverse(texts, subject, value)
            else:
                sentence = self._words.cloze(each.relation, subject, value)
            conditions = [self._condition(fact) for fact in each.premises]
            if None in conditions:
                self._drop(update, "logical", "no_words")
                continue
            yield Asked(
                *("logical", each.kind, each.subject, each.relation, sentence),
                [answer(each.answer, value)],
                [self._updated(update, new), *(step_of(fact, "new") for fact in each.premises)],
                [answer(item, self._world.names[item]) for item in each.stale if item in self._world.names],
                [each for each in conditions if each],
            )

    def _condition(self, fact: Fact) -> Row | None:
        """A fact that the unedited model must give right, with the cloze that asks for it."""
        subject, value = self._world.names.get(fact.subject), self._world.value(fact)
        if subject is None or value is None:
            return None
        sentence = self._words.cloze(fact.property, subject, value)
        if sentence is None:
            return None
        return condition_of(sentence, [answer(fact.object, value)], step_of(fact, "old"))

    def _compose_object(self, update: Update, new: Row, old: Row) -> Iterator[Asked]:
        subject, added, gone = self._world.names.get(update.subject), number_of(new), number_of(old)
        if subject is None or added is None:
            return
        for relation, facts in sorted(self._world.about.get(added, {}).items()):
            if relation not in self._words.phrases:
                continue
            fact = facts[0]
            reason = self._second_hop(update, fact, facts)
            value = self._world.value(fact)
            if reason is None and value is None:
                reason = "no_label"
            condition = self._condition(fact) if reason is None else None
            if reason is None and condition is None:
                reason = "no_words"
            if reason is not None:
                self._drop(update, "compose_object", reason)
                continue
            assert value is not None
            assert condition is not None
            earlier = self._world.of(gone, relation) if gone is not None else ()
            known = [(each.object, self._world.value(each)) for each in earlier]
            yield Asked(
                *("compose_object", "", added, relation),
                self._words.composed([update.property, relation], subject, value),
                [answer(fact.object, value)],
                [self._updated(update, new), step_of(fact, "new")],
                [answer(item, name) for item, name in known if name],
                [condition],
                popularity=value.sitelinks,
            )

    def _second_hop(self, update: Update, fact: Fact, facts: Sequence[Fact]) -> str | None:
        holding = [each for each in facts if each.new_values]
        if (
            len(holding) != 1
            or holding[0].new_values != 1
            or holding[0] is not fact
            or not fact.new_statement
        ):
            return "not_unique" if holding else "not_before"
        return None if fact.old_statement else "not_before"

    def _compose_subject(self, update: Update, new: Row, old: Row) -> Iterator[Asked]:
        subject = self._world.names.get(update.subject)
        if subject is None:
            return
        name = self._name(new)
        for fact in self._world.pointing.get(update.subject, ()):
            if fact.property not in self._words.phrases:
                continue
            other = self._world.names.get(fact.subject)
            reason = self._first_hop(update, fact)
            condition = self._condition(fact) if reason is None else None
            if reason is None and (other is None or condition is None):
                reason = "no_label" if other is None else "no_words"
            if reason is not None:
                self._drop(update, "compose_subject", reason)
                continue
            assert other is not None
            assert condition is not None
            yield Asked(
                *("compose_subject", "", update.subject, update.property),
                self._words.composed([fact.property, update.property], other, name),
                [answer(number_of(new), name)],
                [step_of(fact, "new"), self._updated(update, new)],
                [answer(number_of(old), self._name(old))],
                [condition],
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

    def _preserve(self, update: Update) -> Iterator[Asked]:
        static = [each for each in update.objects if each["decision"] == "static" and each["id"]]
        changed = any(each["decision"] != "static" for each in update.objects)
        if not static or not changed:
            return
        known = next((each for each in static if each["old_statement"]), None)
        if known is None:
            return self._drop(update, "preserve", "not_before")
        sentence = Sentence(update.prompt, update.rewordings[0] if update.rewordings else "")
        answers = [answer(number_of(each), self._name(each)) for each in static]
        group = update.subject, update.property
        path = [step(*group, each["id"], each["new_statement"], "new") for each in static]
        condition = condition_of(sentence, answers, step(*group, known["id"], known["old_statement"], "old"))
        yield Asked(
            *("preserve", "", update.subject, update.property, sentence),
            *(answers, path, (), [condition]),
        )

    def _specific(self, update: Update, new: Row, derived: Sequence[Conclusion]) -> Iterator[Asked]:
        subject = self._world.names.get(update.subject)
        if subject is None:
            return
        concluded = {(each.subject, each.relation) for each in derived}
        for relation, facts in sorted(self._world.about.get(update.subject, {}).items()):
            if relation == update.property or relation in CLASS_RELATIONS:
                continue
            fact = facts[0]
            value = self._world.value(fact)
            reason = self._untouched(update, fact, new, concluded)
            if reason is None and not fact.stays:
                reason = "not_unique" if fact.new_values else "not_before"
            if reason is None and value is None:
                reason = "no_label"
            if reason is not None:
                self._drop(update, "specific", reason)
                continue
            assert value is not None
            sentence = self._words.cloze(relation, subject, value)
            answers = [answer(fact.object, value)]
            conditions = [condition_of(sentence, answers, step_of(fact, "old"))] if sentence else []
            yield Asked(
                *("specific", "", update.subject, relation, sentence, answers, [step_of(fact, "new")]),
                *((), conditions),
                popularity=value.sitelinks,
            )

    def _untouched(self, update: Update, fact: Fact, new: Row, concluded: set[tuple[int, int]]) -> str | None:
        if (fact.subject, fact.property) in self._world.updated:
            return "is_update"
        if fact.object is not None and f"Q{fact.object}" == new["id"]:
            return "new_object"
        return "derived" if (fact.subject, fact.property) in concluded else None

    def _history(self, update: Update, new: Row, old: Row) -> Iterator[Asked]:
        subject = self._world.names.get(update.subject)
        stated = self._world.stated.get((update.subject, update.property), ())
        keys = {each.object: each.key for each in stated if each.object is not None and each.key}
        added, gone = (keys.get(number_of(each) or 0) for each in (new, old))
        if subject is None or added is None or gone is None:
            return
        t_old, t_new = self._means.t_old, self._means.t_new
        for criterion, held, key, first, last in (
            ("history_old", old, gone, -(10**15), t_old - 1),
            ("history_new", new, added, t_old + 1, t_new),
        ):
            draw = f"{self._means.seed}:{criterion}:{update.name}"
            month = month_of(stated, key, gone, added, Window(t_old, t_new, first, last), draw)
            if month is None:
                self._drop(update, criterion, "undated")
                continue
            name = self._name(held)
            sentence = self._words.past(update.property, subject, name, month.words)
            answers = [answer(number_of(held), name)]
            path = step(update.subject, update.property, held["id"], month.statement, month.dump)
            is_old = criterion == "history_old"
            yield Asked(
                *(criterion, "", update.subject, update.property, sentence, answers, [path]),
                [] if is_old else [answer(number_of(old), self._name(old))],
                [condition_of(sentence, answers, path)] if is_old and sentence else (),
                date=month.date,
            )

    def _neighbor(self, update: Update, new: Row, derived: Sequence[Conclusion]) -> Iterator[Asked]:
        concluded = {(each.subject, each.relation) for each in derived}
        for kind, facts in (("nearest", update.nearest), ("random", update.random)):
            for fact in facts or ():
                (one, *_) = fact["objects"]
                subject, relation = int(fact["subject"]["id"][1:]), int(fact["relation"]["id"][1:])
                reason = None
                if (subject, relation) in self._world.updated:
                    reason = "is_update"
                elif one["object"]["label"] == new["label"]:
                    reason = "new_object"
                elif (subject, relation) in concluded:
                    reason = "derived"
                if reason is not None:
                    self._drop(update, "neighbor", reason)
                    continue
                sentence = Sentence(one["prompt"])
                answers = [answer(number_of(one["object"]), self._name(one["object"]))]
                path = step(subject, relation, one["object"]["id"], one["statement"], "old")
                known = self._world.names.get(subject)
                yield Asked(
                    *("neighbor", kind, subject, relation, sentence, answers, [path], ()),
                    [condition_of(sentence, answers, path)],
                    popularity=known.sitelinks if known else 0,
                )
