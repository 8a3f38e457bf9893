"""Dates, lags and fates of the objects of updates, and when values held: docs/streams.md, word by word.

Nothing here shares code with the package.
"""

import datetime
from collections.abc import Iterator
from typing import Any

from support.worlds import time_of

from .drawn import DAYS, Drawn, Row, in_order

Group = tuple[int, int]
EVER, NEVER = -(10**15), 10**15


def dated_first(change: Row) -> Any:
    return change["dated_by"] == "interval", change["first_day"], change["last_day"]


def ordinal(packed: int) -> int:
    """Days since 0001-01-01, which is 1; there is no year 0."""
    year, rest = packed // 10_000, packed % 10_000
    if year < 0:
        return ordinal((year + 401) * 10_000 + rest) - 146_097
    return datetime.date(year, max(rest // 100, 1), max(rest % 100, 1)).toordinal()


def as_written(time: Row) -> str:
    text = f"{'-' if time['year'] < 0 else ''}{abs(time['year']):04d}"
    text += f"-{time['month']:02d}" if time["precision"] >= 10 else ""
    text += f"-{time['day']:02d}" if time["precision"] >= 11 else ""
    return text + (" julian" if time["julian"] else "")


class Dating:
    """Dates and lags of the objects of updates, and what supersedes them."""

    def __init__(self, drawn: Drawn) -> None:
        self.drawn = drawn
        self.kept: dict[Group, dict[int, list[Row]]] = {}
        self.all: dict[Group, list[tuple[int, Row]]] = {}
        for number, triples in enumerate(drawn.triples, start=1):
            for row in sorted(triples, key=in_order):
                group = row["subject"], row["property"]
                self.all.setdefault(group, []).append((number, row))
                if row["dropped_by"] is None:
                    self.kept.setdefault(group, {}).setdefault(number, []).append(row)

    def links(self) -> list[Row]:
        rows = []
        for (subject, relation), chain in self.kept.items():
            for link, (number, update) in enumerate(sorted(chain.items()), start=1):
                objects = [self.change((subject, relation), number, row) for row in update]
                for change, row in zip(objects, update, strict=True):
                    change |= self.fate(list(chain.values()), link, row)
                labels = [row["label"] for row in update]
                says = "new" if "new" in labels else "obsolete"
                own = [change for change, label in zip(objects, labels, strict=True) if label == says]
                first = sorted(own, key=dated_first)[0]
                ends = [change["superseded_by"] for change in own]
                row = {"interval": number, "subject": subject, "property": relation, "link": link}
                row |= {**first, "links": len(chain), "changes": objects}
                row["reverts"] = any(change["reverts"] for change in objects)
                row["superseded_by"] = None if None in ends else sorted(ends)[-1]
                rows.append(row)
        return sorted(rows, key=lambda row: (row["interval"], row["subject"], row["property"]))

    def change(self, group: Group, number: int, row: Row) -> Row:
        names = ("date", "first_day", "last_day", "dated_by", "lag_min", "lag_max")
        if row["label"] == "static":
            return dict.fromkeys(names)
        by, time = self.dated(group, number, row)
        if time is None:
            after = datetime.date.fromordinal(ordinal(DAYS[number - 1]) + 1)
            first = after.year * 10_000 + after.month * 100 + after.day
            return dict(zip(names, (None, first, DAYS[number], "interval", None, None), strict=True))
        since = self.appeared(group, number, row, by, time)
        lags: tuple[int | None, int | None] = None, None
        if since:
            first, last = ordinal(DAYS[since - 1]) + 1, ordinal(DAYS[since])
            lags = first - ordinal(time["last"]), last - ordinal(time["first"])
        return dict(zip(names, (as_written(time), time["first"], time["last"], by, *lags), strict=True))

    def dated(self, group: Group, number: int, row: Row) -> tuple[str, Row | None]:
        def inside(time: Row | None) -> bool:
            if time is None or time["precision"] < 9:
                return False
            return bool(time["first"] <= DAYS[number] and time["last"] > DAYS[number - 1])

        side = "old" if row["change"] == "F-" else "new"
        if row["label"] == "new":
            candidates = [
                ("value", row["time"] if row["rule"] == "death" else None),
                ("start", row[f"{side}_start"]),
                ("point_in_time", row[f"{side}_pit"]),
                ("created", self.created(group[0], number) if row["rule"] == "new_subject" else None),
            ]
            return next(((by, time) for by, time in candidates if inside(time)), ("interval", None))
        if row["change"] == "F-":
            for stated in self.drawn.dumps[number]:
                same = (stated["statement"], stated["key"]) == (row["old_statement"], row["key"])
                end = stated["end"]
                known = same and end and stated["rank"] != "deprecated"
                if known and end["precision"] >= 9 and end["first"] <= DAYS[number]:
                    return "end", end
        if inside(row[f"{side}_end"]):
            return "end", row[f"{side}_end"]
        new = [triple for triple in self.kept[group][number] if triple["label"] == "new"]
        began = [self.dated(group, number, triple) for triple in new]
        dates = sorted((time for _, time in began if time), key=lambda time: (time["first"], time["last"]))
        return ("replacement", dates[0]) if dates else ("interval", None)

    def created(self, subject: int, number: int) -> Row | None:
        """The date of the new dump that made a subject new."""
        days = [row["created"] for row in self.drawn.born if row["id"] == subject]
        births = [fact for position, fact in enumerate(self.drawn.births) if position % 5 != 4]
        times = [time_of(fact.o.text) for fact in births if fact.s == subject]
        return next((time for time in times if days and days[0] in (time["first"], time["written"])), None)

    def appeared(self, group: Group, number: int, row: Row, by: str, time: Row) -> int | None:
        if row["label"] == "obsolete":
            old = row["old_end"]
            if by == "end" and old and (old["first"], old["last"]) == (time["first"], time["last"]):
                return None
            return None if by == "replacement" and row["change"] != "F-" else number
        if row["change"] == "F+":
            return number
        statement = row["old_statement"]
        for before in range(number - 1, 0, -1):
            for position, earlier in self.all[group]:
                if position == before and earlier["new_statement"] == statement:
                    if earlier["change"] == "F+":
                        return before
                    statement = earlier["old_statement"]
                    break
        return None

    @staticmethod
    def fate(chain: list[list[Row]], link: int, row: Row) -> Row:
        """Whether an object comes back, and the first later link that says the opposite of it."""

        def labels(update: list[Row]) -> list[str]:
            return [triple["label"] for triple in update if (triple["datatype"], triple["key"]) == value]

        def says(update: list[Row]) -> str | None:
            if own := labels(update):
                return "ended" if own[-1] == "obsolete" else "holds"
            ends = update[0]["relation_is_temp_func"] and any(triple["label"] == "new" for triple in update)
            return "ended" if ends else None

        value = row["datatype"], row["key"]
        last = labels(chain[link - 1])[-1]
        earlier = [verdict for verdict in map(says, chain[: link - 1]) if verdict]
        mentioned = any(map(labels, chain[: link - 1]))
        opposite = {"new": "ended", "obsolete": "holds"}.get(last)
        after = enumerate(chain[link:], start=link + 1)
        later = [number for number, update in after if says(update) == opposite]
        reverts = last == "new" and mentioned and earlier[-1:] == ["ended"]
        return {"reverts": reverts, "superseded_by": later[0] if later and opposite else None}


class Timelines:
    """When the values of chains held, statement by statement."""

    def __init__(self, drawn: Drawn, links: list[Row]) -> None:
        self.drawn = drawn
        self.groups = sorted({(row["subject"], row["property"]) for row in links})
        self.ended: dict[tuple[int, int, int, int], tuple[int, int]] = {}
        for link in links:
            for row, change in zip(drawn.update(link), link["changes"], strict=True):
                if row["label"] == "obsolete" and row["datatype"] == "wikibase-item":
                    key = (link["subject"], link["property"], link["interval"], row["object"])
                    self.ended[key] = change["first_day"], change["last_day"]

    def rows(self) -> Iterator[Row]:
        for group in self.groups:
            for value, certain, possible, doubted, dated in self.tenures(group):
                first, last = possible
                row = {"subject": group[0], "property": group[1], "value": value or None, "dated": dated}
                row |= {"certain_first": certain and certain[0], "certain_last": certain and certain[1]}
                row |= {"possible_first": None if first == EVER else first, "doubted": doubted}
                yield row | {"possible_last": None if last == NEVER else last}

    def functional(self, group: Group) -> bool:
        """Whether an update says that there is a single value at a time."""
        kept = (row for triples in self.drawn.triples for row in triples if row["dropped_by"] is None)
        own = (row for row in kept if (row["subject"], row["property"]) == group)
        return any(row["relation_is_temp_func"] for row in own)

    def stated(self, group: Group, number: int) -> list[Row]:
        """The statements of a dump that name an item, or nobody, in their order."""
        rows = []
        functional = self.functional(group)
        for row in self.drawn.dumps[number]:
            if (row["subject"], row["property"]) != group or row["datatype"] != "wikibase-item":
                continue
            value = row["object"] if row["snak"] == "value" else 0
            rows.append(row | {"value": value, "dump": number})
        preferred = any(row["rank"] == "preferred" for row in rows)
        for row in rows:
            if row["rank"] == "deprecated":
                row["is"] = "false"
            elif row["dropped_by"] == "restrictive_qualifier":
                row["is"] = "in part"
            elif row["dropped_by"] in ("keep_latest", "preferred"):
                row["is"] = "aside"
            else:
                row["is"] = "aside" if functional and preferred and row["rank"] == "normal" else "current"
            row["from"] = row["starts"] or [row["start"]] * (row["start"] is not None)
            row["to"] = row["ends"] or [row["end"]] * (row["end"] is not None)
        return rows

    def histories(self, group: Group) -> list[list[Row]]:
        """The rows of each statement over the dumps that have it, one after the other."""
        going: list[list[Row]] = []
        done: list[list[Row]] = []
        for number in range(len(self.drawn.dumps)):
            present = self.stated(group, number)
            next_: list[list[Row] | None] = [None] * len(present)
            for position, row in enumerate(present):
                for history in going:
                    same = history[-1]["statement"], history[-1]["value"]
                    if same == (row["statement"], row["value"]):
                        next_[position] = history
            for position, row in enumerate(present):
                if next_[position] is None:
                    for history in going:
                        before = history[-1]
                        if any(history is other for other in next_) or before["value"] != row["value"]:
                            continue
                        starts = before["from"], row["from"]
                        if not before["to"] or not all(starts) or starts[0] == starts[1]:
                            next_[position] = history
                            break
            done += [history for history in going if not any(history is other for other in next_)]
            both = zip(next_, present, strict=True)
            going = [[*(before or []), row] for before, row in both if before or row["is"] != "false"]
        return [*done, *going]

    def tenures(self, group: Group) -> list[tuple[Any, ...]]:
        return [self.of_history(group, history) for history in self.histories(group)]

    def of_history(self, group: Group, history: list[Row]) -> tuple[Any, ...]:
        last = history[-1]
        doubted = last["is"] in ("in part", "false")
        if last["pit"] and not last["from"]:
            return last["value"], None, (EVER, NEVER), doubted, True
        current = [DAYS[row["dump"]] for row in history if row["is"] == "current"]
        begin, end = min(current, default=None), max(current, default=None)
        earliest, latest = EVER, NEVER
        if last["from"]:
            earliest = min(time["first"] for time in last["from"])
            if not last["start_unknown"]:
                begin = max(time["last"] for time in last["from"])
        if last["to"]:
            latest = max(time["last"] for time in last["to"])
            ends = [time["first"] for time in last["to"] if begin is not None and time["first"] >= begin]
            end = min(ends, default=None)
            if any(time["first"] > latest for time in last["from"]):
                latest = NEVER
        elif last["end_unknown"]:
            end, latest = None, DAYS[last["dump"]]
        elif (gone := self.gave_way(group, history)) and gone[1] >= earliest:
            latest = gone[1]
            end = end if end is None else min(end, gone[0])
        if end is not None:
            end = min(end, DAYS[last["dump"]])
        certain = begin is not None and end is not None and begin <= end and not doubted
        span = (begin, end) if certain else None
        return last["value"], span, (earliest, latest), doubted, bool(last["from"] or last["to"])

    def gave_way(self, group: Group, history: list[Row]) -> tuple[int, int] | None:
        """The days on which what took a statement's place put it aside, or on which an update ended it."""
        last = history[-1]
        if last["is"] == "aside":
            first = last
            for row in reversed(history):
                if row["is"] != "aside":
                    break
                first = row
            day = DAYS[first["dump"]]
            others = [row for row in self.stated(group, first["dump"]) if row["is"] == "current"]
            if not others or any(not row["from"] or row["start_unknown"] for row in others):
                return day, day
            times = [time for row in others for time in row["from"]]
            return min(*(x["first"] for x in times), day), min(max(x["last"] for x in times), day)
        return self.ended.get((*group, last["dump"] + 1, last["value"]))


def says(tenures: list[tuple[Any, ...]], value: int, first: int, last: int) -> str:
    own = [(certain, possible) for of, certain, possible, *_ in tenures if of == value]
    if any(certain and certain[0] <= first and last <= certain[1] for certain, _ in own):
        return "correct"
    return "unclear" if any(begin <= last and first <= end for _, (begin, end) in own) else "wrong"
