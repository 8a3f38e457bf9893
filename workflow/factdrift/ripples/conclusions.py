"""What an update entails about other facts: reverse, inverse, symmetric, and by rules."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from factdrift.ripples.tables import Relations, Rule
from factdrift.ripples.world import Fact, Update, World


class Conclusion(NamedTuple):
    """A fact that follows from an update, or the reason why it cannot be asked for."""

    kind: str
    subject: int
    relation: int
    """For `reverse` that of the update."""
    answer: int
    premises: Sequence[Fact] = ()
    stale: Sequence[int] = ()
    problem: str | None = None


def conclusions(
    world: World, update: Update, new: int | None, old: int | None, relations: Relations
) -> list[Conclusion]:
    """The conclusions of a replacement of items, in the order of kinds."""
    if new is None:
        return []
    return [
        *_inverse(world, update, new, relations),
        *(conclusion for rule in relations.rules for conclusion in _by_rule(world, update, new, old, rule)),
        *_reverse(world, update, new, relations),
    ]


def _reverse(world: World, update: Update, new: int, relations: Relations) -> Iterator[Conclusion]:
    if update.property not in relations.reverse:
        return
    pointing = [fact for fact in world.pointing.get(new, ()) if fact.property == update.property]
    others = [fact.subject for fact in pointing if fact.new_values and fact.subject != update.subject]
    before = [fact.subject for fact in pointing if fact.old_values]
    problem = "not_unique" if others else "same_answer" if update.subject in before else None
    fact = new, update.property, update.subject
    yield Conclusion("reverse", *fact, stale=sorted(set(before)), problem=problem)


def _inverse(world: World, update: Update, new: int, relations: Relations) -> Iterator[Conclusion]:
    for second in sorted(second for first, second in relations.inverses if first == update.property):
        kind = "symmetric" if second == update.property else "inverse"
        yield _concluded(world, kind, (new, second, update.subject), ())


def _by_rule(world: World, update: Update, new: int, old: int | None, rule: Rule) -> Iterator[Conclusion]:
    """The conclusions of a rule; one about the subject is stale with what the obsolete object entailed."""
    if rule.relation != update.property:
        return
    names = {"s": update.subject, "o": new}
    for premises, value in _premises(world, rule, names):
        at = names | ({} if value is None else {"z": value})
        subject, answer = at[rule.conclusion[0]], at[rule.conclusion[2]]
        conclusion = _concluded(world, "rule", (subject, rule.conclusion[1], answer), premises)
        if rule.conclusion[0] == "s" and old is not None:
            before = [obsolete for _, obsolete in _premises(world, rule, names | {"o": old}, "old")]
            stale = [*conclusion.stale, *(value for value in before if value is not None)]
            conclusion = conclusion._replace(stale=stale)
        yield conclusion


def _premises(
    world: World, rule: Rule, names: dict[str, int], dump: str = "new"
) -> Iterator[tuple[list[Fact], int | None]]:
    """The facts that fulfil the premise, each with the value of `z`; once without any if there is none."""
    if rule.premise is None:
        yield [], None
        return
    subject, relation, wanted = rule.premise
    facts = [
        fact
        for fact in world.of(names[subject], relation)
        if (fact.new_values if dump == "new" else fact.old_values) and fact.object is not None
    ]
    if wanted.startswith("Q"):
        facts = [fact for fact in facts if fact.object == int(wanted[1:])]
        if facts and facts[0].new_statement and facts[0].old_statement:
            yield facts[:1], None
        return
    if len(facts) != 1 or (dump == "new" and not facts[0].stays):
        return
    yield facts, facts[0].object


def _concluded(world: World, kind: str, fact: tuple[int, int, int], premises: Sequence[Fact]) -> Conclusion:
    """A conclusion, with what the dumps state of its subject and relation."""
    subject, relation, answer = fact
    stated = world.of(subject, relation)
    now = {known.key: known.object for known in stated if known.new_values}
    before = [known.object for known in stated if known.old_values and known.object is not None]
    problem = None
    if now and answer not in now.values():
        problem = "contradicted"
    elif len(now) > 1:
        problem = "not_unique"
    elif answer in before:
        problem = "same_answer"
    return Conclusion(kind, subject, relation, answer, premises, sorted(set(before)), problem)
