"""A plain second reading of what the two dumps of a drawn world state: the probes that are due."""

import calendar
import hashlib
from collections import defaultdict
from typing import Any

from support.ripples_drawn import (
    MONTHS,
    PAIRS,
    PHRASES,
    RELATIONS,
    REVERSE,
    RULES,
    SUBJECTS,
    T_NEW,
    Drawn,
    Row,
    in_words,
    number,
)
from support.worlds import UNKNOWN, Fact, time_of


def key_of(fact: Fact) -> str:
    return str(fact.row(0, 0, 0)["key"])


def days(moment: Any) -> tuple[int, int] | None:
    return None if moment in (None, UNKNOWN) else (time_of(moment)["first"], time_of(moment)["last"])


class Oracle:
    """What must be asked, by loops over the statements of both dumps."""

    def __init__(self, drawn: Drawn) -> None:
        self.drawn = drawn
        self.sides = {"old": drawn.old, "new": drawn.new}
        self.t_old, self.t_new = (time_of(day)["first"] for day in (drawn.t_old, T_NEW))
        self.dead = {fact.s for fact in drawn.new if fact.p == 570}
        self.groups: dict[tuple[str, int, int], list[Fact]] = defaultdict(list)
        for side, facts in self.sides.items():
            for fact in facts:
                self.groups[side, fact.s, fact.p].append(fact)

    def held(self, side: str, subject: int, relation: int) -> dict[str, list[Fact]]:
        """Value -> the statements of best rank that hold at the date of a dump."""
        day = self.t_old if side == "old" else self.t_new
        group = [f for f in self.groups[side, subject, relation] if f.rank != "deprecated"]
        best = [f for f in group if f.rank == "preferred"] or group
        found = defaultdict(list)
        for fact in best:
            start, end = days(fact.start), days(fact.end)
            if fact.end != UNKNOWN and not (end and end[0] <= day) and not (start and start[1] > day):
                found[key_of(fact)].append(fact)
        return dict(sorted(found.items()))

    def stated(self, side: str, facts: list[Fact]) -> str | None:
        """The first statement that no filter drops."""
        return min((f.id for f in facts if (side, f.id) not in self.drawn.dropped), default=None)

    def only(self, subject: int, relation: int) -> tuple[Any, str, str] | None:
        """The only value at both dates, with its statements."""
        old, new = (self.held(side, subject, relation) for side in ("old", "new"))
        if len(old) != 1 or list(old) != list(new):
            return None
        (key,) = old
        ids = self.stated("old", old[key]), self.stated("new", new[key])
        return (old[key][0].o, *ids) if all(ids) else None

    def items(self, side: str, subject: int, relation: int) -> set[int]:
        return {
            each[0].o for each in self.held(side, subject, relation).values() if isinstance(each[0].o, int)
        }

    def called(self, value: Any) -> Row:
        if isinstance(value, int):
            return {"id": f"Q{value}", "label": self.label(value), "aliases": self.drawn.aliases[value]}
        return {"id": None, "label": in_words(value.text), "aliases": []}

    def label(self, item: int) -> str:
        return self.drawn.labels[item]

    def is_ambiguous(self, item: int) -> bool:
        named = {f.s for f in self.drawn.new} | {f.o for f in self.drawn.new if isinstance(f.o, int)}
        named |= {f.s for f in self.drawn.old} | {f.o for f in self.drawn.old if isinstance(f.o, int)}
        likes, absent = self.drawn.likes["new"], self.drawn.absent["new"]
        return item not in absent and any(
            other != item and self.label(other) == self.label(item) and likes[other] >= likes[item]
            for other in named - absent
        )

    def named(self, *items: Any) -> bool:
        return self.drawn.unnamed.isdisjoint(item for item in items if isinstance(item, int))

    def all_called(self, items: Any) -> list[Row]:
        """Those of some values that have a name."""
        return [self.called(item) for item in items if self.named(item)]

    def is_chosen(self, row: Row) -> bool:
        group = number(row["subject"]), number(row["relation"])
        return row["scenario"] != "ReplaceObject" or group in self.drawn.chosen

    def probes(self) -> list[Row]:
        found = []
        for row in self.drawn.rows:
            if number(row["subject"]) % self.drawn.buckets != self.drawn.bucket or not self.is_chosen(row):
                continue
            prompts: set[str] = set()
            for probe in self.candidates(row):
                words = {word.strip(",?") for text in probe["sentences"][:2] for word in text.split()}
                names = {name for one in probe["answers"] for name in (one["label"], *one["aliases"])}
                right = {one["label"] for one in probe["answers"]}
                stays = probe["criterion"] in ("preserve", "specific", "history_old", "neighbor")
                same = not stays and any(one["label"] in right for one in probe["stale"])
                prompt = probe["sentences"][0]
                if probe["asked"][0] in self.dead or not names.isdisjoint(words) or same or prompt in prompts:
                    continue
                prompts.add(prompt)
                probe["must_change"] = False if stays else probe.pop("proven") or None
                probe.pop("proven", None)
                found.append(probe)
        return found

    def candidates(self, row: Row) -> Any:
        s, r = number(row["subject"]), number(row["relation"])
        cloze, before = self.drawn.cloze, self.held("old", s, r)
        by = {
            decision: [o for o in row["objects"] if o["decision"] == decision]
            for decision in ("new", "obsolete")
        }

        def probe(
            criterion: str, asked: tuple[int, int], sentences: Any, answers: list[Any], **more: Any
        ) -> Row:
            made = {"update": f"Q{s}-P{r}", "criterion": criterion, "kind": None, "asked": asked}
            made |= {"sentences": tuple(sentences), "answers": [*map(self.called, answers)], "stale": []}
            return made | {"conditions": [], "proven": bool(before)} | more

        if row["scenario"] == "AddEntity" and len(by["new"]) == 1 and not by["obsolete"]:
            yield from self.of_object(s, r, number(by["new"][0]), None, probe)
        if row["scenario"] != "ReplaceObject":
            yield from self.preserved(row, s, r, by["new"], probe)
            return
        new, old = number(by["new"][0]), number(by["obsolete"][0])
        gone = [self.called(old)]
        for alias in self.drawn.aliases[s]:
            subjects = {number(each["subject"]) for each in self.drawn.rows if self.is_chosen(each)}
            subjects -= self.drawn.absent["new"]
            once = f"{self.drawn.former.get(s)} ".startswith(f"{alias} ")
            if sum(alias in self.drawn.aliases[each] for each in subjects) < 2 and not once:
                yield probe("alias", (s, r), cloze(r, alias), [new], stale=gone)
        derived = {(new, second) for first, second in PAIRS if first == r}
        for second in sorted(second for first, second in PAIRS if first == r):
            now, then = (self.items(side, new, second) for side in ("new", "old"))
            known = self.named(new, s) and not self.is_ambiguous(new)
            if len(now) < 2 and now <= {s} and s not in then and known:
                stale = self.all_called(sorted(then))
                kind = "symmetric" if second == r else "inverse"
                yield probe("logical", (new, second), cloze(second, self.label(new)), [s], kind=kind,
                            stale=stale, proven=bool(before or then))  # fmt: skip
        for rule in RULES:
            for asked, answer, step, more in self.concluded(rule, s, r, new, old):
                derived.add(asked)
                now, then = (self.items(side, *asked) for side in ("new", "old"))
                ambiguous = asked[0] != s and self.is_ambiguous(asked[0])
                known = self.named(*asked[:1], answer) and None not in step and not ambiguous
                if len(now) < 2 and now <= {answer} and answer not in then and known:
                    stale = self.all_called([*sorted(then), *more])
                    said = cloze(asked[1], self.label(asked[0]))
                    yield probe("logical", asked, said, [answer], kind="rule", stale=stale,
                                proven=bool(then or more), conditions=step)  # fmt: skip
        if r in REVERSE:
            derived.add((new, r))
            now, then = ({x for x in SUBJECTS if new in self.items(side, x, r)} for side in ("new", "old"))
            if now <= {s} and s not in then and self.named(new, s) and not self.is_ambiguous(new):
                texts = (REVERSE[r]["sentence"], REVERSE[r]["rewording"])
                said = [t.replace("{object}", self.label(new)).replace("{subject}", "____") for t in texts]
                stale = self.all_called(sorted(then))
                yield probe("logical", (new, r), (*said, ""), [s], kind="reverse", stale=stale,
                            proven=bool(before or then))  # fmt: skip
        yield from self.of_object(s, r, new, old, probe)
        for first in sorted(PHRASES.keys() & {*RELATIONS}):
            for x in SUBJECTS:
                only = self.only(x, first)
                known = self.named(s, x) and not self.is_ambiguous(x)
                if only and only[0] == s and x not in (s, *self.dead) and known:
                    said, conditions = composed((first, r), self.label(x)), [self.condition(x, first)]
                    yield probe("compose_subject", (s, r), said, [new], stale=gone, conditions=conditions)
        for other in sorted({fact.p for fact in self.drawn.old + self.drawn.new if fact.s == s} - {r, 31}):
            only = self.only(s, other)
            known = only and self.named(s, only[0])
            if only and known and only[0] != new and (s, other) not in self.drawn.groups | derived:
                yield probe("specific", (s, other), cloze(other, self.label(s)), [only[0]],
                            conditions=[self.condition(s, other)])  # fmt: skip
        if self.named(s):
            yield from self.history(s, r, new, old, probe)
        for kind, facts in (("nearest", row["neighborhood"]), ("random", row["random_neighborhood"])):
            for near in facts or ():
                group, value = (number(near["subject"]), number(near["relation"])), near["objects"][0]
                only, named = self.only(*group), value["object"]
                if only is None or group in self.drawn.groups | derived or named["label"] == self.label(new):
                    continue
                if named["id"] == f"Q{only[0]}" or (named["id"] is None and value["statement"] == only[1]):
                    said = (value["prompt"], "", "")
                    yield probe(
                        "neighbor", group, said, [only[0]], kind=kind, conditions=[self.condition(*group)]
                    )

    def condition(self, subject: int, relation: int) -> Row:
        """That the only value of a group held at T_old."""
        value, statement, _ = self.only(subject, relation) or (None, "", "")
        fact = (f"Q{subject}", f"P{relation}", f"Q{value}" if isinstance(value, int) else None, statement)
        prompt = self.drawn.cloze(relation, self.label(subject))[0]
        return {"prompt": prompt, "answers": [self.called(value)], "fact": fact}

    def concluded(self, rule: Row, s: int, r: int, new: int, old: int) -> Any:
        if rule["relation"] != f"P{r}":
            return
        names, steps, more = {"s": s, "o": new}, [], []
        if rule["premise"]:
            about, relation, wanted = rule["premise"].split()
            subject, relation = names[about], int(relation[1:])
            if wanted == "z":
                if len(self.items("new", subject, relation)) != 1 or not self.only(subject, relation):
                    return
                names["z"] = self.only(subject, relation)[0]
                then = self.items("old", old if about == "o" else s, relation)
                more = list(then) if len(then) == 1 and rule["conclusion"].startswith("s") else []
                known = self.named(subject, names["z"])
                steps = [self.condition(subject, relation) if known else None]
            else:
                facts = [self.held(side, subject, relation).get(wanted, []) for side in ("old", "new")]
                ids = [self.stated(side, each) for side, each in zip(("old", "new"), facts, strict=True)]
                if not all(ids):
                    return
                prompt = self.drawn.cloze(relation, self.label(subject))[0]
                fact = (f"Q{subject}", f"P{relation}", wanted, ids[0])
                step = {"prompt": prompt, "answers": [self.called(int(wanted[1:]))], "fact": fact}
                steps = [step if self.named(subject) else None]
        subject, relation, answer = rule["conclusion"].split()
        yield (names[subject], int(relation[1:])), names[answer], steps, more

    def of_object(self, s: int, r: int, new: int, old: int | None, probe: Any) -> Any:
        """Facts of the new object; `old`: the obsolete one, None for a new entity."""
        for second in sorted({fact.p for fact in self.drawn.old + self.drawn.new if fact.s == new}):
            if second in PHRASES and (only := self.only(new, second)):
                then, now = ({} if old is None else self.held(side, old, second) for side in ("old", "new"))
                if not self.named(s, new, only[0]):
                    continue
                stale = self.all_called(facts[0].o for _, facts in sorted({**now, **then}.items()))
                said, conditions = composed((r, second), self.label(s)), [self.condition(new, second)]
                yield probe("compose_object", (new, second), said, [only[0]], stale=stale,
                            proven=bool(then), conditions=conditions)  # fmt: skip

    def preserved(self, row: Row, s: int, r: int, added: list[Row], probe: Any) -> Any:
        if (
            "static" not in {each["decision"] for each in row["objects"]}
            or len({each["decision"] for each in row["objects"]}) == 1
        ):
            return
        old, new = self.held("old", s, r), self.held("new", s, r)
        right = {k: f for k, f in new.items() if self.stated("new", f) and k not in {o["id"] for o in added}}
        kept = {k: f for k, f in right.items() if self.stated("old", old.get(k, []))}
        if not kept or not self.named(s, *(facts[0].o for facts in right.values())):
            return
        prompt, rewording, _ = self.drawn.cloze(r, self.label(s))
        sentences = (rewording, "", "")
        if added:
            names = [each["label"] for each in added]
            listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
            sentences = (
                f"Besides {listed}, {prompt[0].lower()}{prompt[1:]}",
                f"Besides {listed}, {rewording}",
                "",
            )
        first = next(iter(kept))
        fact = (f"Q{s}", f"P{r}", first, self.stated("old", old[first]))
        answers = [self.called(facts[0].o) for facts in kept.values()]
        conditions = [{"prompt": prompt, "answers": answers, "fact": fact}]
        yield probe("preserve", (s, r), sentences, [f[0].o for f in right.values()], conditions=conditions)

    def history(self, s: int, r: int, new: int, old: int, probe: Any) -> Any:
        kept = self.held("old", s, r).get(f"Q{old}", [])
        only = self.stated("old", kept)
        if only and (said := self.month("history_old", s, r, old, old, new, only)):
            fact = (f"Q{s}", f"P{r}", f"Q{old}", only)
            conditions = [{"prompt": said[0], "answers": [self.called(old)], "fact": fact}]
            yield probe("history_old", (s, r), said, [old], conditions=conditions)
        if said := self.month("history_new", s, r, new, old, new, None):
            yield probe("history_new", (s, r), said, [new], stale=[self.called(old)])

    def month(
        self, criterion: str, s: int, r: int, held: int, old: int, new: int, only: str | None
    ) -> tuple[str, str, str] | None:
        """The sentences of the drawn one of the months of which it is certain who held."""
        own = {side: [f for f in facts if (f.s, f.p) == (s, r) and f.rank != "deprecated"]
               for side, facts in self.sides.items()}  # fmt: skip
        known = [("new", f) for f in own["new"]]
        known += [("old", f) for f in own["old"] if f.id not in {g.id for g in own["new"]}]
        begun = [days(f.start)[1] for _, f in known if f.o == new and days(f.start)]
        handover = min(begun, default=self.t_new)
        said = {}
        for year in range(2009, 2024):
            for month in range(1, 13):
                first = year * 10_000 + month * 100 + 1
                last = first - 1 + calendar.monthrange(year, month)[1]
                if not (last < self.t_old if held == old else first > self.t_old and last <= self.t_new):
                    continue
                certain = possible = False
                for side, fact in known:
                    start, end = days(fact.start), days(fact.end)
                    if fact.o == held:
                        sound = self.drawn.dropped.get((side, fact.id)) in (None, "keep_latest")
                        until = end[0] if end else self.t_new
                        if not end and (held == old or side == "old"):
                            until = self.t_old if fact.id in {f.id for f in own["old"]} else 0
                        fits = start is not None and UNKNOWN not in (fact.start, fact.end) and sound
                        certain |= fits and only in (None, fact.id) and start[1] <= first and last <= until
                    else:
                        ends = end[1] if end else handover if fact.o == old else 10**9
                        possible |= (start[0] if start else 0) <= last and first <= ends
                if certain and not possible:
                    draw = f"0:{criterion}:Q{s}-P{r}:{year}-{month:02d}"
                    when, label = f"In {MONTHS[month]} {year}", self.label(s)
                    texts = f"{when}, the r{r} of {label} was ____", f"{when}, {label} had the r{r} ____", ""
                    said[hashlib.sha256(draw.encode()).digest()] = texts
        return said[min(said)] if said else None


def composed(relations: tuple[int, int], name: str) -> tuple[str, str, str]:
    for relation in relations:
        name = PHRASES[relation]["phrase"].replace("{x}", name)
    return f"{name[0].upper()}{name[1:]} is ____", "", f"{PHRASES[relations[1]]['wh']} is {name}?"


def shown(row: Row) -> Row:
    """A probe of the stage in the terms of the oracle."""
    sentences = tuple(row[name] or "" for name in ("prompt", "rewording", "question"))
    conditions = [
        {
            "prompt": each["prompt"],
            "answers": each["answers"],
            "fact": tuple(each["step"][name] for name in ("subject", "relation", "object", "statement")),
        }
        for each in row["conditions"]
    ]
    assert all(each["step"]["dump"] == "old" for each in row["conditions"])
    asked = (int(row["asked_subject"][1:]), int(row["asked_relation"][1:]))
    same = {name: row[name] for name in ("update", "criterion", "kind", "answers", "stale", "must_change")}
    return {**same, "asked": asked, "sentences": sentences, "conditions": conditions}


def popularity(drawn: Drawn, due: Row) -> int:
    """The sitelinks of what makes a probe easy: its answer, its first subject, or a neighbour's subject."""
    items = {
        "compose_object": due["answers"][0]["id"],
        "specific": due["answers"][0]["id"],
        "compose_subject": due["conditions"][0]["fact"][0] if due["conditions"] else None,
        "neighbor": f"Q{due['asked'][0]}",
    }
    item = int((items.get(due["criterion"]) or "Q0")[1:])
    # Of the subjects that lead to others those of the new dump count.
    sides = ("new",) if due["criterion"] == "compose_subject" else ("new", "old")
    known = [drawn.likes[side][item] for side in sides if item and item not in drawn.absent[side]]
    return next(iter(known), 0)
