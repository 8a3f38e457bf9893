"""Errors that are planted into rows of the default build: each with the kind of check that must see it."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from factdrift.audit.kinds import ASOF, KLOB, QUESTIONS, RIPPLES, STREAM, UPDATES
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


def neighbour(field: str, value: Any, part: str = "neighborhood") -> Change:
    """Sets a field of the first neighbour fact; the field may be one of a struct."""

    def change(row: Row) -> None:
        fact = row[part][0]
        *path, last = field.split(".")
        for name in path:
            fact = fact[0][name] if isinstance(fact, list) else fact[name]
        fact = fact[0] if isinstance(fact, list) else fact
        fact[last] = value(fact[last]) if callable(value) else value

    return change


def near_literal(row: Row) -> bool:
    return bool(row["neighborhood"]) and row["neighborhood"][0]["objects"][0]["object"]["id"] is None


def other_prompt(row: Row) -> None:
    row["update_prompt"] = swap(row["update_prompt"], row["subject"]["label"], "Utopia")


def first(row: Row, decision: str, **values: Any) -> None:
    """Sets fields of the change of the first object of a decision."""
    pairs = zip(row["objects"], row["changes"], strict=True)
    next(change for value, change in pairs if value["decision"] == decision).update(values)


def shuffled_dist(row: Row) -> None:
    """A distance that is wrong in its last digit."""
    fact = row["neighborhood"][0]
    fact["dist"] = fact["objects"][0]["dist"] = fact["dist"] + 1e-9


def has(name: str) -> Callable[[Row], object]:
    return lambda row: row[name]


def of(**values: Any) -> Callable[[Row], bool]:
    return lambda row: all(row[name] == value for name, value in values.items())


def put(**values: Any) -> Change:
    return lambda row: row.update(values)


def one(name: str, test: Callable[[Row], object]) -> Callable[[Row], bool]:
    """Rows with such a struct in a list; `put_one` sets fields of the first."""
    return lambda row: any(map(test, row[name]))


def put_one(name: str, test: Callable[[Row], object], /, **values: Any) -> Change:
    return lambda row: next(filter(test, row[name])).update(values)


def first_dated_by(how: str) -> Callable[[Row], bool]:
    return lambda row: bool(row["changes"][0]["dated_by"] == how)


def put_first(name: str, /, **values: Any) -> Change:
    """Sets fields of the first struct in a list."""
    return lambda row: row[name][0].update(values)


def decide(decision: str, /, **values: Any) -> Change:
    """Sets fields of the first object of a decision."""
    return lambda row: decided(row, decision).update(values)


def next_answer(row: Row) -> None:
    row["answer_index"] = (row["answer_index"] + 1) % 4


def two_answers(row: Row) -> None:
    row["options"][(row["answer_index"] + 1) % 4] = row["answer_label"]


def other_condition(row: Row) -> None:
    row["conditions"][0]["answers"][0]["id"] = "Q2"


def needless_condition(row: Row) -> None:
    row["conditions"].append({"step": row["path"][0], "answers": [], "prompt": ""})


def names_its_answer(row: Row) -> None:
    row["prompt"] = f"As {row['answers'][0]['label']} knows, {row['prompt']}"


def said_in_words(criterion: str) -> Callable[[Row], bool]:
    """Probes of a criterion whose answer is a literal."""
    return lambda row: row["criterion"] == criterion and row["answers"][0]["id"] is None


def answered(**values: Any) -> Change:
    """Sets fields of the first answer."""
    return lambda row: row["answers"][0].update(values)


def has_names(row: Row) -> bool:
    return bool(row["answers"][0]["aliases"])


def other_kind(row: Row) -> None:
    row["kind"] = "random" if row["kind"] == "nearest" else "nearest"


def in_the_past(row: Row) -> bool:
    return row["criterion"].startswith("history") and " was " in row["prompt"]


def now(row: Row) -> bool:
    return row["criterion"] == "specific" and " is ____" in row["prompt"]


def other_month(row: Row) -> str:
    return "06" if row["date"].endswith("07") else "07"


EARTH: Row = {"id": "Q2", "label": "Earth", "aliases": []}


def in_millions(value: Row) -> bool:
    return str(value["short"]).endswith("M")


def has_lag(change: Row) -> bool:
    return change["lag_min"] is not None


PLANTS: dict[str, list[tuple[str, Callable[[Row], object], Change]]] = {
    UPDATES: [
        ("rules", dated, lambda row: row["objects"].pop(0)),
        ("rules", dated, lambda row: row["objects"].remove(decided(row, "obsolete"))),
        ("rules", dated, lambda row: row["objects"].append(copy.deepcopy(row["objects"][0]))),
        ("rules", dated, lambda row: row["objects"].reverse()),
        ("rules", dated, decide("new", rule="new_object")),
        ("rules", dated, decide("new", announced=True)),
        ("rules", dated, decide("new", leaks=True)),
        ("rules", dated, decide("new", decision="static")),
        ("rules", dated, lambda row: row["relation"].update(id="P1376")),
        ("rules", one("objects", has("announced")), put_one("objects", has("announced"), announced=False)),
        ("scenario", dated, put(scenario="Other")),
        ("scenario", dated, put(is_replace=False)),
        ("scenario", dated, put(subject_is_ph_new=True)),
        ("scenario", dated, lambda row: row.update(relation_is_temp_func=not row["relation_is_temp_func"])),
        ("statement", dated, decide("new", new_statement="Q1$0")),
        ("statement", dated, decide("new", new_revision=1)),
        ("main_snak", dated, decide("new", id="Q2", raw="Q2")),
        ("main_snak", dated, decide("new", datatype="string")),
        ("dates", dated, decide("new", start="2021-06-30")),
        ("dates", dated, decide("new", point_in_time="2021")),
        ("labels", dated, decide("obsolete", label="Nobody in particular")),
        ("labels", dated, lambda row: row["subject"].update(description="an island")),
        ("labels", dated, lambda row: row["relation"].update(label="owner")),
        ("gone", dated, decide("new", decision="obsolete")),
        ("static", dated, decide("obsolete", decision="static")),
        ("labels", literal("time", "30, 20"), relabel("time", "30, 20", "29, 20")),
        ("labels", literal("time", "November"), relabel("time", "November", "October")),
        ("labels", literal("quantity", "$"), relabel("quantity", "$", "€")),
        ("labels", literal("quantity", ","), relabel("quantity", ",", "")),
        ("labels", one("objects", in_millions), relabel("quantity", "M", "B", "short")),
        ("labels", one("objects", in_millions), relabel("quantity", "M", " kilograms", "short")),
        ("prompt", dated, other_prompt),
        ("prompt", dated, lambda row: row["generalization_prompts"].pop()),
        ("prompt", dated, lambda row: row["generalization_prompts"].reverse()),
        ("prompt", dated, lambda row: row.update(update_prompt=row["update_prompt"] + " today")),
        (
            "leak",
            lambda row: dated(row) and not any(value["leaks"] for value in row["objects"]),
            lambda row: row.update(update_prompt=f"{decided(row, 'new')['label']}: {row['update_prompt']}"),
        ),
        ("drawn", dated, lambda row: row.update(split="train" if row["split"] == "test" else "test")),
        ("popularity", dated, lambda row: row.update(subject_popularity=row["subject_popularity"] + 0.1)),
        ("popularity", dated, put(popularity_source="pageviews")),
        ("prompt", dated, put(template_source="chat")),
        ("neighbour", dated, neighbour("relation.id", "P1376")),
        ("neighbour", dated, lambda row: row["neighborhood"].append(row["neighborhood"][0])),
        ("neighbour", dated, lambda row: row["neighborhood"][0]["subject"].update(id=row["subject"]["id"])),
        ("neighbour_fact", dated, neighbour("objects.raw", "Q2")),
        ("neighbour_fact", dated, neighbour("objects.statement", "Q1$0")),
        ("neighbour_words", dated, neighbour("subject.label", "Utopia")),
        ("neighbour_words", dated, neighbour("subject.description", "an island")),
        ("neighbour_words", dated, neighbour("popularity", lambda value: value + 0.1)),
        ("neighbour_words", dated, neighbour("objects.prompt", "The capital of Utopia is ____")),
        ("neighbour_words", dated, neighbour("objects.object.label", "Nobody", "random_neighborhood")),
        ("neighbour_words", dated, neighbour("objects.object.id", None)),
        ("neighbour_words", near_literal, neighbour("objects.object.label", "12")),
        ("distance", dated, neighbour("dist", lambda value: value + 0.001)),
        ("distance", dated, neighbour("dist", 0.5, "random_neighborhood")),
        ("distance", dated, lambda row: row["neighborhood"].reverse()),
        ("distance", dated, shuffled_dist),
        ("nearest", dated, lambda row: row["neighborhood"].pop(0)),
        ("random", dated, lambda row: row["random_neighborhood"].pop()),
        ("random", dated, lambda row: row["neighborhood"].extend(row["neighborhood"] * 10)),
        ("popularity", dated, lambda row: row.update(subject_popularity=row["subject_popularity"] + 1e-9)),
        ("labels", dated, put_first("objects", short="x")),
        ("labels", one("objects", has("short")), put_one("objects", has("short"), short=None)),
        (
            "labels",
            lambda row: row["subject"]["description"],
            lambda row: row["subject"].update(description=None),
        ),
        (
            "statement",
            one("objects", of(old_statement=None)),
            put_one("objects", of(old_statement=None), old_revision=1),
        ),
        ("prompt", dated, lambda row: row.update(update_prompt=f"As of 2023, {row['update_prompt']}")),
        ("new", dated, decide("obsolete", decision="new")),
        ("single", dated, decide("obsolete", decision="new")),
        (
            "single",
            lambda row: (
                not row["is_replace"] and {value["decision"] for value in row["objects"]} == {"new", "static"}
            ),
            put(is_replace=True),
        ),
        ("random", dated, lambda row: row["random_neighborhood"][0]["objects"][0].update(statement="Q1$0")),
    ],
    QUESTIONS: [
        ("order", of(hop=0), put(item_id="0" * 16)),
        ("chain", of(hop=2), put(item_id="0" * 16)),
        ("answer", has("open_only"), put(answer_label="Utopia")),
        ("answer", has("answer_aliases"), put(answer_aliases=[])),
        ("answer", of(hop=3), put(answer_aliases=["Utopia"])),
        ("answer", lambda row: len(row["answer_aliases"]) > 1, lambda row: row["answer_aliases"].pop()),
        (
            "labels",
            lambda row: row["options"] and row["option_ids"][0][:2] == "19" and row["answer_index"],
            lambda row: row["options"].__setitem__(0, "1 May 1812"),
        ),
        (
            "leak",
            lambda row: row["hop"] == 2 and row["options"],
            lambda row: row.update(answer_label=row["context"].partition(" is ")[2].removesuffix(".")),
        ),
        ("wording", of(hop=0), put(context="Utopia is an island.")),
        ("wording", of(hop=2), put(question="Who is it?")),
        ("wording", of(hop=0), lambda row: row.update(question=row["question"].upper()[:-9])),
        ("marks", of(hop=0), lambda row: row.update(as_of=row["as_of"].replace(day=30))),
        ("marks", of(hop=1), lambda row: row.update(task=row["task"] ^ 7)),
        ("marks", of(hop=1), put(hop=2)),
        ("marks", has("discriminates"), put(discriminates=False)),
        ("marks", lambda row: row["discriminates"] is None, put(discriminates=True)),
        ("marks", of(hop=1), put(asked_s="Q2")),
        ("marks", of(hop=1), put(rel_id="0" * 16)),
        ("marks", lambda row: not row["open_only"], put(open_only=True)),
        ("marks", lambda row: "returning" not in row["flags"], lambda row: row["flags"].append("returning")),
        ("marks", lambda row: "year_only" in row["flags"], lambda row: row["flags"].remove("year_only")),
        (
            "marks",
            lambda row: "answer_in_context" not in row["flags"],
            lambda row: row["flags"].append("answer_in_context"),
        ),
        (
            "options",
            lambda row: row["options"] and row["task"] == 2,
            lambda row: row["options"].__setitem__((row["answer_index"] + 1) % 4, "Utopia"),
        ),
        ("options", has("options"), two_answers),
        ("key", has("options"), next_answer),
        *(
            (
                "labels",
                lambda row: row["options"] and row["option_ids"][0][0] == "Q",
                lambda row, other=other: row["option_ids"].__setitem__(0, other),
            )
            for other in ("Q30", "Q999999999")
        ),
    ],
    KLOB: [
        ("fact", of(subtask="c"), put(o1="Q2")),
        ("fact", of(subtask="c"), put(stmt1_id="Q1$0")),
        ("fact", of(subtask="r"), lambda row: row.update(stmt2_id=row["stmt1_id"])),
        ("fact", of(subtask="r"), put(p2="P2")),
        ("fact", of(subtask="c"), put(s_label="Utopia")),
        ("fact", of(subtask="c"), put(o1_aliases=["Utopia"])),
        ("fact", of(subtask="c"), put(rev_s=1)),
        ("fact", of(subtask="c"), put(pop_o=-1)),
        ("fact", of(subtask="c"), put(snapshot_id="2021-01-04")),
        ("sentence", of(subtask="c"), put(example_id="0" * 16)),
        ("sentence", of(subtask="c"), lambda row: row["sentences"].reverse()),
        ("sentence", of(subtask="c"), put_first("sentences", n_tokens=99)),
        ("sentence", of(subtask="c"), put_first("sentences", target_label="Utopia")),
        ("sentence", of(subtask="c"), put(stmt2_id="Q2$0")),
        ("sentence", of(subtask="u"), put(s="Q2")),
        ("sentence", of(subtask="u"), put_first("sentences", target_id="Q2")),
        ("sentence", of(subtask="u"), put_first("sentences", source_sentence_id=None)),
        (
            "sentence",
            of(subtask="r"),
            lambda row: row["sentences"][3].update(text="It is", text_blank="It is _", n_tokens=3),
        ),
        (
            "sentence",
            of(subtask="c"),
            lambda row: row["sentences"][1].update(template_id=row["sentences"][0]["template_id"]),
        ),
        ("words", of(subtask="u"), put_first("sentences", source_sentence_id="0" * 16)),
        (
            "words",
            of(subtask="u"),
            lambda row: row["sentences"][0].update(n_tokens=row["sentences"][0]["n_tokens"] + 1),
        ),
    ],
    STREAM: [
        ("dated", has("date"), put(date="2022-02-30")),
        ("dated", has("date"), put(first_day=20200101)),
        ("dated", first_dated_by("start"), put_first("changes", date="2022")),
        ("dated", one("changes", has_lag), put_one("changes", has_lag, lag_min=10**6)),
        ("dated", has_lag, lambda row: row.update(lag_min=row["lag_min"] - 1)),
        (
            "dated",
            one("objects", of(decision="static")),
            lambda row: first(row, "static", date="2022", first_day=20220101, last_day=20221231),
        ),
        ("dated", of(dated_by="start"), put(dated_by="end")),
        ("dated", first_dated_by("start"), put_first("changes", date=None, dated_by="interval")),
        ("dated", first_dated_by("created"), put_first("changes", date=None, dated_by="interval")),
        (
            "dated",
            first_dated_by("value"),
            lambda row: row["changes"][0].update(date=row["changes"][0]["date"][:-1] + "x"),
        ),
        ("dated", has("dated_by"), put(dated_by="guess")),
    ],
    RIPPLES: [
        ("path", of(criterion="compose_object"), lambda row: row["path"].reverse()),
        ("path", of(criterion="compose_subject"), lambda row: row["path"].pop()),
        ("path", of(criterion="specific"), lambda row: row["path"][0].update(statement="Q1$none")),
        ("path", of(criterion="alias"), lambda row: row["path"][0].update(dump="old")),
        ("path", of(criterion="neighbor"), lambda row: row["answers"][0].update(id="Q2")),
        ("path", of(kind="reverse"), lambda row: row["answers"][0].update(id="Q2")),
        ("path", of(kind="inverse"), put(kind="symmetric")),
        ("path", of(kind="inverse"), lambda row: row.update(asked_relation=row["relation"])),
        ("path", of(criterion="preserve"), put(update="Q1-P1")),
        ("only", of(criterion="compose_object"), lambda row: row["path"][-1].update(relation="P1")),
        ("condition", of(criterion="compose_object"), lambda row: row["conditions"].clear()),
        ("condition", of(criterion="alias"), needless_condition),
        ("condition", of(criterion="specific"), lambda row: row["conditions"][0]["step"].update(dump="new")),
        ("condition", of(criterion="compose_subject"), other_condition),
        ("tenure", of(criterion="history_old"), put(date="2021-03")),
        ("tenure", of(criterion="history_new"), put(date="2020-03")),
        ("tenure", of(criterion="history_old"), put(date="1900-03")),
        ("tenure", of(criterion="history_new"), put(date=None)),
        ("probe", of(criterion="specific"), put(must_change=True)),
        ("probe", of(criterion="alias"), lambda row: row.update(prompt=f"{row['prompt']} or not")),
        ("probe", of(criterion="compose_object"), names_its_answer),
        ("probe", of(criterion="logical"), lambda row: row["stale"].extend(row["answers"])),
        ("probe", of(criterion="neighbor"), lambda row: row["answers"][0].update(aliases=["Utopia"])),
        *(("probe", said_in_words(each), answered(label="May 5, 1066")) for each in ("specific", "neighbor")),
        ("probe", said_in_words("specific"), answered(aliases=["Utopia"])),
        ("probe", has_names, lambda row: row["answers"][0]["aliases"].pop()),
        ("path", of(criterion="specific"), lambda row: row["answers"].append(EARTH)),
        ("path", of(criterion="preserve"), lambda row: row["answers"].append(EARTH)),
        ("path", of(criterion="neighbor"), other_kind),
        *(
            ("path", of(criterion=each), lambda row: row["path"][-1].update(dump="old"))
            for each in ("specific", "neighbor", "compose_object", "preserve")
        ),
        *(
            ("condition", of(criterion=each), lambda row: row["conditions"][0]["step"].update(dump="new"))
            for each in ("neighbor", "preserve", "history_old")
        ),
        ("condition", of(criterion="history_old"), lambda row: row["conditions"].clear()),
        (
            "condition",
            of(criterion="compose_object"),
            lambda row: row["conditions"][0]["step"].update(row["path"][0]),
        ),
        (
            "condition",
            said_in_words("neighbor"),
            lambda row: row["conditions"][0]["answers"][0].update(label="42"),
        ),
        *(
            (
                "probe",
                lambda row, each=each: row["criterion"] == each and row["stale"],
                lambda row: row["stale"].clear(),
            )
            for each in ("alias", "compose_object", "compose_subject", "history_new")
        ),
        ("probe", lambda row: row["kind"] == "rule" and row["stale"], lambda row: row["stale"].clear()),
        ("probe", of(criterion="history_new"), lambda row: row["stale"].append(EARTH)),
        ("probe", of(kind="reverse"), lambda row: row["stale"].append(EARTH)),
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
        ("prompt", of(criterion="specific"), lambda row: row["conditions"][0].update(prompt="Who is ____")),
        ("prompt", in_the_past, lambda row: row.update(prompt=swap(row["prompt"], " was ", " is "))),
        ("prompt", now, lambda row: row.update(prompt=swap(row["prompt"], " is ____", " was ____"))),
        (
            "prompt",
            of(criterion="history_new"),
            lambda row: row.update(prompt=row["prompt"].partition(", ")[2]),
        ),
        *(
            (
                "prompt",
                of(criterion=each),
                lambda row: row.update(date=f"{row['date'][:5]}{other_month(row)}"),
            )
            for each in ("history_old", "history_new")
        ),
    ],
    ASOF: [
        ("held", has("options"), next_answer),
        ("held", has("open_only"), put(answer_label="Utopia")),
        ("asked", of(precision="day"), put(question="Who is it?")),
        ("asked", has("context"), put(context="Utopia is an island.")),
        ("asked", has("context"), put(context=None)),
        ("asked", has("context"), lambda row: row.update(question=f"Yes: {row['question']}")),
        ("asked", has("discriminates"), put(discriminates=False)),
        ("asked", has("answer_aliases"), lambda row: row["answer_aliases"].pop()),
        ("marks", has("precision"), lambda row: row["flags"].append("returning")),
        ("marks", of(precision="day"), put(precision="month")),
        ("marks", of(precision="month"), put(first_day=20000101)),
        ("marks", has("options"), lambda row: row.update(as_of=row["as_of"].replace(year=1999))),
        ("marks", of(holds="now"), put(holds="before")),
        ("marks", has("options"), put(s="Q2")),
        ("options", has("options"), lambda row: row["option_verdicts"].reverse()),
        ("options", has("options"), two_answers),
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
    (QUESTIONS, "statement", lambda row: row["hop"] > 0, take("rel_id")),
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
