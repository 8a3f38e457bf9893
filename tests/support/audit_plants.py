"""Errors that are planted into rows of the default build: each with the kind of check that must see it."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from factdrift.audit.kinds import ASKED, ASOF, CORPUS, KLOB, QUESTIONS, RIPPLES, STREAM, UPDATES
from factdrift.ripples.tables import CRITERIA

Row = dict[str, Any]
Change = Callable[[Row], object]


def decided(row: Row, decision: str) -> Row:
    value: Row = next(value for value in row["objects"] if value["decision"] == decision)
    return value


def dated(row: Row) -> bool:
    """A replacement of one item by another, told by dates, with neighbours of both kinds."""
    rules = {value["rule"] for value in row["objects"]}
    return bool(
        row["is_replace"]
        and rules & {"began_inside", "replaced_from"}
        and all(value["id"] for value in row["objects"])
        and len(row["neighborhood"]) > 2
        and row["random_neighborhood"]
    )


def unleaked(row: Row) -> bool:
    return dated(row) and not any(value["leaks"] for value in row["objects"])


def literal(datatype: str, *texts: str) -> Callable[[Row], bool]:
    def where(row: Row) -> bool:
        labels = [value["label"] for value in row["objects"] if value["datatype"] == datatype]
        return any(text in label for label in labels for text in (texts or ("",)))

    return where


def relabel(datatype: str, old: str, new: str, field: str = "label") -> Change:
    def change(row: Row) -> None:
        value = next(v for v in row["objects"] if v["datatype"] == datatype and old in (v[field] or ""))
        value[field] = value[field].replace(old, new)

    return change


def swap(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new)


def at(path: str, value: Any) -> Change:
    """Sets the field at a path such as `neighborhood.0.dist`; a callable makes its value of the old one."""
    above, _, name = path.rpartition(".")
    last = step_of(name)

    def change(row: Row) -> None:
        holder = held(row, above)
        holder[last] = value(holder[last]) if callable(value) else value

    return change


def step_of(text: str) -> Any:
    """The key or the position in a list that a part of a path is."""
    return int(text) if text.lstrip("-").isdigit() else text


def held(row: Row, path: str) -> Any:
    """What a row has at a path, whose numbers are positions in lists; the row itself for an empty path."""
    value: Any = row
    for step in filter(None, path.split(".")):
        value = value[step_of(step)]
    return value


def do(path: str, action: Callable[..., object], *arguments: Any) -> Change:
    """Calls a method of the list at a path, such as `list.pop`."""
    return lambda row: action(held(row, path), *arguments)


def adds(values: list[Row]) -> bool:
    return {value["decision"] for value in values} == {"new", "static"}


def static_in_2022(row: Row) -> None:
    change = row["changes"][row["objects"].index(decided(row, "static"))]
    change.update(date="2022", first_day=20220101, last_day=20221231)


def other_month(date: str) -> str:
    return f"{date[:5]}{'06' if date.endswith('07') else '07'}"


def other_side(question: str) -> str:
    """`Who followed X as ...?` -> `Who came before X as ...?`, and the reverse."""
    sides = [" followed ", " came before "]
    old, new = sides if sides[0] in question else sides[::-1]
    return question.replace(old, new, 1)


def first_template(row: Row) -> None:
    row["sentences"][1]["template_id"] = row["sentences"][0]["template_id"]


def in_words(facts: list[Row]) -> bool:
    """Whether the object of the first neighbour fact is a literal."""
    return bool(facts) and facts[0]["objects"][0]["object"]["id"] is None


def shifted(row: Row) -> None:
    """A distance that is wrong in its last digit."""
    fact = row["neighborhood"][0]
    fact["dist"] = fact["objects"][0]["dist"] = fact["dist"] + 1e-9


def has(name: str) -> Callable[[Row], object]:
    return lambda row: row[name]


def of(**values: Any) -> Callable[[Row], bool]:
    """Rows that have these values; of a callable, those of whose value it is true."""

    def where(row: Row) -> bool:
        pairs = ((row[name], value) for name, value in values.items())
        return all(value(actual) if callable(value) else actual == value for actual, value in pairs)

    return where


def begins(text: str) -> Callable[[Any], bool]:
    """Lists whose first text begins so."""
    return lambda values: bool(values) and values[0].startswith(text)


def without(text: str) -> Callable[[Any], bool]:
    return lambda values: text not in values


def put(**values: Any) -> Change:
    """Sets columns; a callable makes its value of the row."""
    return lambda row: row.update({n: v(row) if callable(v) else v for n, v in values.items()})


def one(name: str, test: Callable[[Row], object]) -> Callable[[Row], bool]:
    """Rows with such a struct in a list; `put_one` sets fields of the first."""
    return lambda row: any(map(test, row[name]))


def put_one(name: str, test: Callable[[Row], object], /, **values: Any) -> Change:
    return lambda row: next(filter(test, row[name])).update(values)


def first_dated_by(how: str) -> Callable[[Row], bool]:
    return lambda row: bool(row["changes"][0]["dated_by"] == how)


def decide(decision: str, /, **values: Any) -> Change:
    """Sets fields of the first object of a decision."""
    return lambda row: decided(row, decision).update(values)


def said_in_words(criterion: str) -> Callable[[Row], bool]:
    """Probes of a criterion whose answer is a literal."""
    return lambda row: row["criterion"] == criterion and row["answers"][0]["id"] is None


def next_option(row: Row) -> int:
    return (int(row["answer_index"]) + 1) % 4


EARTH: Row = {"id": "Q2", "label": "Earth", "aliases": []}
IN_MILLIONS = one("objects", lambda value: str(value["short"]).endswith("M"))
LAGGING = of(lag_min=lambda days: days is not None)
IT_IS = {"text": "It is", "text_blank": "It is _", "n_tokens": 3}
ADDED = of(old_statement=None)
UNDATED = {"date": None, "dated_by": "interval"}
STATED = of(known_until=None, role="updated")
TWO_ANSWERS = (
    of(options=bool),
    lambda row: row["options"].__setitem__(next_option(row), row["answer_label"]),
)
NEXT_ANSWER = put(answer_index=next_option)
ASKS_NOW = of(criterion="specific", prompt=lambda text: " is ____" in text)
ASKED_THEN = of(criterion=lambda name: name.startswith("history"), prompt=lambda text: " was " in text)


PLANTS: dict[str, list[tuple[str, Callable[[Row], object], Change]]] = {
    UPDATES: [
        ("rules", dated, do("objects", list.pop, 0)),
        ("rules", dated, lambda row: row["objects"].remove(decided(row, "obsolete"))),
        ("rules", dated, lambda row: row["objects"].append(copy.deepcopy(row["objects"][0]))),
        ("rules", dated, do("objects", list.reverse)),
        ("rules", dated, decide("new", rule="new_object")),
        ("rules", dated, decide("new", announced=True)),
        ("rules", dated, decide("new", leaks=True)),
        ("rules", dated, decide("new", decision="static")),
        ("rules", dated, at("relation.id", "P1376")),
        ("rules", one("objects", has("announced")), put_one("objects", has("announced"), announced=False)),
        ("scenario", dated, put(scenario="Other")),
        ("scenario", dated, put(is_replace=False)),
        ("scenario", dated, put(subject_is_ph_new=True)),
        ("scenario", dated, put(relation_is_temp_func=lambda row: not row["relation_is_temp_func"])),
        ("statement", dated, decide("new", new_statement="Q1$0")),
        ("statement", dated, decide("new", new_revision=1)),
        ("main_snak", dated, decide("new", id="Q2", raw="Q2")),
        ("main_snak", dated, decide("new", datatype="string")),
        ("dates", dated, decide("new", start="2021-06-30")),
        ("dates", dated, decide("new", point_in_time="2021")),
        ("labels", dated, decide("obsolete", label="Nobody in particular")),
        ("labels", dated, at("subject.description", "an island")),
        ("labels", dated, at("relation.label", "owner")),
        ("gone", dated, decide("new", decision="obsolete")),
        ("static", dated, decide("obsolete", decision="static")),
        ("labels", literal("time", "30, 20"), relabel("time", "30, 20", "29, 20")),
        ("labels", literal("time", "November"), relabel("time", "November", "October")),
        ("labels", literal("quantity", "$"), relabel("quantity", "$", "€")),
        ("labels", literal("quantity", ","), relabel("quantity", ",", "")),
        ("labels", IN_MILLIONS, relabel("quantity", "M", "B", "short")),
        ("labels", IN_MILLIONS, relabel("quantity", "M", " kilograms", "short")),
        (
            "prompt",
            dated,
            put(update_prompt=lambda row: row["update_prompt"].replace(row["subject"]["label"], "Utopia")),
        ),
        ("prompt", dated, do("generalization_prompts", list.pop)),
        ("prompt", dated, do("generalization_prompts", list.reverse)),
        ("prompt", dated, at("update_prompt", lambda text: f"{text} today")),
        (
            "leak",
            unleaked,
            put(update_prompt=lambda row: f"{decided(row, 'new')['label']}: {row['update_prompt']}"),
        ),
        ("drawn", dated, at("split", {"train": "test", "test": "train"}.get)),
        ("popularity", dated, at("subject_popularity", lambda value: value + 0.1)),
        ("popularity", dated, put(popularity_source="pageviews")),
        ("prompt", dated, put(template_source="chat")),
        ("neighbour", dated, at("neighborhood.0.relation.id", "P1376")),
        ("neighbour", dated, lambda row: row["neighborhood"].append(row["neighborhood"][0])),
        ("neighbour", dated, lambda row: row["neighborhood"][0]["subject"].update(id=row["subject"]["id"])),
        ("neighbour_fact", dated, at("neighborhood.0.objects.0.raw", "Q2")),
        ("neighbour_fact", dated, at("neighborhood.0.objects.0.statement", "Q1$0")),
        ("neighbour_words", dated, at("neighborhood.0.subject.label", "Utopia")),
        ("neighbour_words", dated, at("neighborhood.0.subject.description", "an island")),
        ("neighbour_words", dated, at("neighborhood.0.popularity", lambda value: value + 0.1)),
        ("neighbour_words", dated, at("neighborhood.0.objects.0.prompt", "The capital of Utopia is ____")),
        ("neighbour_words", dated, at("random_neighborhood.0.objects.0.object.label", "Nobody")),
        ("neighbour_words", dated, at("neighborhood.0.objects.0.object.id", None)),
        ("neighbour_words", of(neighborhood=in_words), at("neighborhood.0.objects.0.object.label", "12")),
        ("distance", dated, at("neighborhood.0.dist", lambda value: value + 0.001)),
        ("distance", dated, at("random_neighborhood.0.dist", 0.5)),
        ("distance", dated, do("neighborhood", list.reverse)),
        ("distance", dated, shifted),
        ("nearest", dated, do("neighborhood", list.pop, 0)),
        ("random", dated, do("random_neighborhood", list.pop)),
        ("random", dated, lambda row: row["neighborhood"].extend(row["neighborhood"] * 10)),
        ("popularity", dated, at("subject_popularity", lambda value: value + 1e-9)),
        ("labels", dated, at("objects.0.short", "x")),
        ("labels", one("objects", has("short")), put_one("objects", has("short"), short=None)),
        ("labels", lambda row: row["subject"]["description"], at("subject.description", None)),
        ("statement", one("objects", ADDED), put_one("objects", ADDED, old_revision=1)),
        ("prompt", dated, at("update_prompt", lambda text: f"As of 2023, {text}")),
        ("new", dated, decide("obsolete", decision="new")),
        ("single", dated, decide("obsolete", decision="new")),
        ("single", of(is_replace=False, objects=adds), put(is_replace=True)),
        ("random", dated, at("random_neighborhood.0.objects.0.statement", "Q1$0")),
    ],
    QUESTIONS: [
        ("order", of(hop=0), put(item_id="0" * 16)),
        ("chain", of(hop=2), put(item_id="0" * 16)),
        ("answer", has("open_only"), put(answer_label="Utopia")),
        ("answer", has("answer_aliases"), put(answer_aliases=[])),
        ("answer", of(hop=3), put(answer_aliases=["Utopia"])),
        ("answer", of(answer_aliases=lambda names: len(names) > 1), do("answer_aliases", list.pop)),
        (
            "labels",
            of(options=bool, option_ids=begins("19"), answer_index=bool),
            at("options.0", "1 May 1812"),
        ),
        (
            "leak",
            of(hop=2, options=bool),
            put(answer_label=lambda row: row["context"].partition(" is ")[2][:-1]),
        ),
        ("wording", of(hop=0), put(context="Utopia is an island.")),
        ("wording", of(hop=2), put(question="Who is it?")),
        ("wording", of(hop=0), at("question", lambda text: text.upper()[:-9])),
        ("marks", of(hop=0), at("as_of", lambda day: day.replace(day=30))),
        ("marks", of(hop=1), at("task", lambda value: value ^ 7)),
        ("marks", of(hop=1), put(hop=2)),
        ("marks", has("discriminates"), put(discriminates=False)),
        ("marks", of(discriminates=None), put(discriminates=True)),
        ("marks", of(hop=1), put(asked_s="Q2")),
        ("marks", of(hop=1), put(rel_id="0" * 16)),
        ("marks", of(open_only=False), put(open_only=True)),
        ("marks", of(flags=without("returning")), do("flags", list.append, "returning")),
        ("marks", of(flags=lambda flags: "year_only" in flags), do("flags", list.remove, "year_only")),
        ("marks", of(flags=without("answer_in_context")), do("flags", list.append, "answer_in_context")),
        (
            "options",
            of(options=bool, task=2),
            lambda row: row["options"].__setitem__(next_option(row), "Utopia"),
        ),
        ("options", *TWO_ANSWERS),
        ("key", has("options"), NEXT_ANSWER),
        ("labels", of(options=bool, option_ids=begins("Q")), at("option_ids.0", "Q30")),
        ("labels", of(options=bool, option_ids=begins("Q")), at("option_ids.0", "Q999999999")),
    ],
    KLOB: [
        ("fact", of(subtask="c"), put(o1="Q2")),
        ("fact", of(subtask="c"), put(stmt1_id="Q1$0")),
        ("fact", of(subtask="r"), put(stmt2_id=lambda row: row["stmt1_id"])),
        ("fact", of(subtask="r"), put(p2="P2")),
        ("fact", of(subtask="c"), put(s_label="Utopia")),
        ("fact", of(subtask="c"), put(o1_aliases=["Utopia"])),
        ("fact", of(subtask="c"), put(rev_s=1)),
        ("fact", of(subtask="c"), put(pop_o=-1)),
        ("fact", of(subtask="c"), put(snapshot_id="2021-01-04")),
        ("sentence", of(subtask="c"), put(example_id="0" * 16)),
        ("sentence", of(subtask="c"), do("sentences", list.reverse)),
        ("sentence", of(subtask="c"), at("sentences.0.n_tokens", 99)),
        ("sentence", of(subtask="c"), at("sentences.0.target_label", "Utopia")),
        ("sentence", of(subtask="c"), put(stmt2_id="Q2$0")),
        ("sentence", of(subtask="u"), put(s="Q2")),
        ("sentence", of(subtask="u"), at("sentences.0.target_id", "Q2")),
        ("sentence", of(subtask="u"), at("sentences.0.source_sentence_id", None)),
        ("sentence", of(subtask="r"), do("sentences.3", dict.update, IT_IS)),
        ("sentence", of(subtask="c"), first_template),
        ("words", of(subtask="u"), at("sentences.0.source_sentence_id", "0" * 16)),
        ("words", of(subtask="u"), at("sentences.0.n_tokens", lambda number: number + 1)),
    ],
    STREAM: [
        ("dated", has("date"), put(date="2022-02-30")),
        ("dated", has("date"), put(first_day=20200101)),
        ("dated", first_dated_by("start"), at("changes.0.date", "2022")),
        ("dated", one("changes", LAGGING), put_one("changes", LAGGING, lag_min=10**6)),
        ("dated", LAGGING, at("lag_min", lambda value: value - 1)),
        ("dated", one("objects", of(decision="static")), static_in_2022),
        ("dated", of(dated_by="start"), put(dated_by="end")),
        ("dated", first_dated_by("start"), do("changes.0", dict.update, UNDATED)),
        ("dated", first_dated_by("created"), do("changes.0", dict.update, UNDATED)),
        ("dated", first_dated_by("value"), at("changes.0.date", lambda date: f"{date[:-1]}x")),
        ("dated", has("dated_by"), put(dated_by="guess")),
    ],
    RIPPLES: [
        ("path", of(criterion="compose_object"), do("path", list.reverse)),
        ("path", of(criterion="compose_subject"), do("path", list.pop)),
        ("path", of(criterion="specific"), at("path.0.statement", "Q1$none")),
        ("path", of(criterion="alias"), at("path.0.dump", "old")),
        ("path", of(criterion="neighbor"), at("answers.0.id", "Q2")),
        ("path", of(kind="reverse"), at("answers.0.id", "Q2")),
        ("path", of(kind="inverse"), put(kind="symmetric")),
        ("path", of(kind="inverse"), put(asked_relation=lambda row: row["relation"])),
        ("path", of(criterion="preserve"), put(update="Q1-P1")),
        ("only", of(criterion="compose_object"), at("path.-1.relation", "P1")),
        ("condition", of(criterion="compose_object"), do("conditions", list.clear)),
        (
            "condition",
            of(criterion="alias"),
            lambda row: row["conditions"].append({"step": row["path"][0], "answers": [], "prompt": ""}),
        ),
        ("condition", of(criterion="specific"), at("conditions.0.step.dump", "new")),
        ("condition", of(criterion="compose_subject"), at("conditions.0.answers.0.id", "Q2")),
        ("tenure", of(criterion="history_old"), put(date="2021-03")),
        ("tenure", of(criterion="history_new"), put(date="2020-03")),
        ("tenure", of(criterion="history_old"), put(date="1900-03")),
        ("tenure", of(criterion="history_new"), put(date=None)),
        ("probe", of(criterion="specific"), put(must_change=True)),
        ("probe", of(criterion="alias"), at("prompt", lambda text: f"{text} or not")),
        (
            "probe",
            of(criterion="compose_object"),
            put(prompt=lambda row: f"As {row['answers'][0]['label']} knows, {row['prompt']}"),
        ),
        ("probe", of(criterion="logical"), lambda row: row["stale"].extend(row["answers"])),
        ("probe", of(criterion="neighbor"), at("answers.0.aliases", ["Utopia"])),
        ("probe", said_in_words("specific"), at("answers.0.label", "May 5, 1066")),
        ("probe", said_in_words("neighbor"), at("answers.0.label", "May 5, 1066")),
        ("probe", said_in_words("specific"), at("answers.0.aliases", ["Utopia"])),
        ("probe", lambda row: row["answers"][0]["aliases"], do("answers.0.aliases", list.pop)),
        ("path", of(criterion="specific"), do("answers", list.append, EARTH)),
        ("path", of(criterion="preserve"), do("answers", list.append, EARTH)),
        ("path", of(criterion="neighbor"), at("kind", {"nearest": "random", "random": "nearest"}.get)),
        *(
            ("path", of(criterion=each), at("path.-1.dump", "old"))
            for each in ("specific", "neighbor", "compose_object", "preserve")
        ),
        *(
            ("condition", of(criterion=each), at("conditions.0.step.dump", "new"))
            for each in ("neighbor", "preserve", "history_old")
        ),
        ("condition", of(criterion="history_old"), do("conditions", list.clear)),
        (
            "condition",
            of(criterion="compose_object"),
            lambda row: row["conditions"][0].update(step=row["path"][0]),
        ),
        ("condition", said_in_words("neighbor"), at("conditions.0.answers.0.label", "42")),
        *(
            ("probe", of(criterion=criterion, stale=bool), do("stale", list.clear))
            for criterion in ("alias", "compose_object", "compose_subject", "history_new")
        ),
        ("probe", of(kind="rule", stale=bool), do("stale", list.clear)),
        ("probe", of(criterion="history_new"), do("stale", list.append, EARTH)),
        ("probe", of(kind="reverse"), do("stale", list.append, EARTH)),
        ("probe", of(criterion="specific"), put(probe_id="0" * 16)),
        ("probe", of(criterion="preserve"), put(scenario="ReplaceObject")),
        ("probe", of(must_change=None), put(must_change=True)),
        ("probe", of(criterion="compose_subject"), put(must_change=None)),
        *(
            ("prompt", of(criterion=each), put(prompt="The number of legs of Napoleon is ____"))
            for each in CRITERIA
        ),
        *(("prompt", has(each), put(**{each: "Who is Napoleon ____"})) for each in ("rewording", "question")),
        (
            "prompt",
            has("rewording"),
            lambda row: row.update(prompt=row["rewording"], rewording=row["prompt"]),
        ),
        ("prompt", of(criterion="specific"), at("conditions.0.prompt", "Who is ____")),
        ("prompt", ASKED_THEN, at("prompt", lambda text: text.replace(" was ", " is "))),
        ("prompt", ASKS_NOW, at("prompt", lambda text: text.replace(" is ____", " was ____"))),
        ("prompt", of(criterion="history_new"), at("prompt", lambda text: text.partition(", ")[2])),
        ("prompt", of(criterion="history_old"), at("date", other_month)),
        ("prompt", of(criterion="history_new"), at("date", other_month)),
    ],
    ASOF: [
        ("held", has("options"), NEXT_ANSWER),
        ("held", has("open_only"), put(answer_label="Utopia")),
        ("asked", of(precision="day"), put(question="Who is it?")),
        ("asked", has("context"), put(context="Utopia is an island.")),
        ("asked", has("context"), put(context=None)),
        ("asked", has("context"), at("question", lambda text: f"Yes: {text}")),
        ("asked", has("discriminates"), put(discriminates=False)),
        ("asked", has("answer_aliases"), do("answer_aliases", list.pop)),
        ("marks", has("precision"), do("flags", list.append, "returning")),
        ("marks", of(precision="day"), put(precision="month")),
        ("marks", of(precision="month"), put(first_day=20000101)),
        ("marks", has("options"), at("as_of", lambda day: day.replace(year=1999))),
        ("marks", of(holds="now"), put(holds="before")),
        ("marks", has("options"), put(s="Q2")),
        ("options", has("options"), do("option_verdicts", list.reverse)),
        ("options", *TWO_ANSWERS),
    ],
    CORPUS: [
        ("stated", STATED, at("facts.0.object", "Q1")),
        ("stated", STATED, at("facts.0.relation", "P9999")),
        ("stated", STATED, at("facts.0.subject", "Q1")),
        ("sentences", has("text"), at("text", lambda text: f"{text} It is an island.")),
        ("sentences", has("text"), at("text", lambda text: f"Utopia {text[7:]}")),
        ("sentences", has("text"), at("facts.0.end", lambda end: end - 3)),
        ("sentences", has("text"), at("facts.0.start", lambda start: start + 2)),
        ("sentences", has("text"), at("facts.0.tense", "cited")),
        ("sentences", has("text"), put(facts=[])),
    ],
    ASKED: [
        ("held", of(kind="now"), put(answer_id="Q2")),
        ("held", of(kind="now", stale_ids=bool), put(answer_id=lambda row: row["stale_ids"][0])),
        ("held", of(kind="at"), put(first_day=15000101, last_day=15000101)),
        ("held", of(kind="premise"), put(answer_id=lambda row: row["premise"])),
        ("held", of(kind="next"), put(premise="Q2")),
        ("held", of(kind="next"), at("question", other_side)),
        ("held", of(kind="hop"), put(answer_id=lambda row: row["stale_ids"][0])),
        ("stale", of(kind="now"), at("stale_ids.0", "Q2")),
        ("stale", of(kind="at", stale_ids=bool), put(first_day=15000101, last_day=15000101)),
        ("stale", of(kind="premise"), put(premise_start="1501")),
        ("stale", of(kind="now"), do("answers", list.append, "Utopia")),
        ("stale", of(kind="premise"), do("stale_answers", list.pop)),
        ("stale", of(kind="hop"), lambda row: row["stale_answers"].extend(row["answers"])),
        ("asked", of(kind="now"), put(question="Who is the king of Utopia?")),
        ("asked", of(kind="at"), put(at="1501")),
        ("asked", of(kind="now"), at("question", lambda text: text.replace(" is ", " was ", 1))),
        ("asked", of(kind="premise"), put(question="Since when has Utopia been an island?")),
        ("asked", of(kind="at"), at("prompt", lambda text: text.removesuffix("____"))),
        (
            "documents",
            of(kind="now", stale_docs=bool),
            lambda row: row["right_docs"].extend(row["stale_docs"]),
        ),
        (
            "documents",
            of(kind="now", right_docs=bool),
            lambda row: row["stale_docs"].extend(row["right_docs"]),
        ),
        ("documents", of(kind="at", right_docs=bool), at("right_docs.0", "Q2@2021-01-04")),
        ("documents", of(kind="now", right_docs=bool), put(known_at="2015-01-01")),
    ],
}
"""Dataset -> kind that must see it, rows that have the place for it, the change."""

Pair = Callable[[Row, Row], object]


def take(name: str) -> Pair:
    return lambda row, other: row.update({name: other[name]})


FROM_OTHERS: list[tuple[str, str, Callable[[Row], object], Pair]] = [
    (
        UPDATES,
        "template",
        dated,
        lambda row, other: row.update(
            update_prompt=other["update_prompt"].replace(other["subject"]["label"], row["subject"]["label"])
        ),
    ),
    (UPDATES, "unique", dated, take("update_prompt")),
    (UPDATES, "prompt", dated, take("update_prompt")),
    (UPDATES, "rules", dated, take("objects")),
    (UPDATES, "distance", dated, take("neighborhood")),
    (
        UPDATES,
        "neighbour_answer",
        dated,
        lambda row, other: row["neighborhood"][0]["objects"][0].update(raw=decided(row, "new")["raw"]),
    ),
    (QUESTIONS, "unique", of(), take("question")),
    (QUESTIONS, "wording", of(), take("context")),
    (QUESTIONS, "marks", of(), take("s")),
    (QUESTIONS, "statement", of(), take("fact_id")),
    (QUESTIONS, "statement", of(hop=bool), take("rel_id")),
    (ASOF, "asked", of(), take("context")),
    (ASOF, "asked", of(), take("question")),
    (
        KLOB,
        "sentence",
        of(subtask="r"),
        lambda row, other: row["sentences"][3].update(
            {name: other["sentences"][3][name] for name in ("text", "text_blank", "n_tokens")}
        ),
    ),
    (KLOB, "fact", of(subtask="c"), take("s")),
]
"""Dataset, kind that must see it, rows that have the place for it, the change by another relation's row."""
