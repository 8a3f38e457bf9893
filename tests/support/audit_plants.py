"""Errors that are planted into rows of the default build: each with the kind of check that must see it."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from factdrift.audit.kinds import ASOF, KLOB, QUESTIONS, STREAM, UPDATES

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


PLANTS: dict[str, list[tuple[str, Callable[[Row], object], Change]]] = {
    UPDATES: [
        ("rules", dated, lambda row: row["objects"].pop(0)),
        ("rules", dated, lambda row: row["objects"].remove(decided(row, "obsolete"))),
        ("rules", dated, lambda row: row["objects"].append(copy.deepcopy(row["objects"][0]))),
        ("rules", dated, lambda row: row["objects"].reverse()),
        ("rules", dated, lambda row: decided(row, "new").update(rule="new_object")),
        ("rules", dated, lambda row: decided(row, "new").update(announced=True)),
        ("rules", dated, lambda row: decided(row, "new").update(leaks=True)),
        ("rules", dated, lambda row: decided(row, "new").update(decision="static")),
        ("rules", dated, lambda row: row["relation"].update(id="P1376")),
        (
            "rules",
            lambda row: any(value["announced"] for value in row["objects"]),
            lambda row: next(v for v in row["objects"] if v["announced"]).update(announced=False),
        ),
        ("scenario", dated, lambda row: row.update(scenario="Other")),
        ("scenario", dated, lambda row: row.update(is_replace=False)),
        ("scenario", dated, lambda row: row.update(subject_is_ph_new=True)),
        ("scenario", dated, lambda row: row.update(relation_is_temp_func=not row["relation_is_temp_func"])),
        ("statement", dated, lambda row: decided(row, "new").update(new_statement="Q1$0")),
        ("statement", dated, lambda row: decided(row, "new").update(new_revision=1)),
        ("main_snak", dated, lambda row: decided(row, "new").update(id="Q2", raw="Q2")),
        ("main_snak", dated, lambda row: decided(row, "new").update(datatype="string")),
        ("dates", dated, lambda row: decided(row, "new").update(start="2021-06-30")),
        ("dates", dated, lambda row: decided(row, "new").update(point_in_time="2021")),
        ("labels", dated, lambda row: decided(row, "obsolete").update(label="Nobody in particular")),
        ("labels", dated, lambda row: row["subject"].update(description="an island")),
        ("labels", dated, lambda row: row["relation"].update(label="owner")),
        ("gone", dated, lambda row: decided(row, "new").update(decision="obsolete")),
        ("static", dated, lambda row: decided(row, "obsolete").update(decision="static")),
        ("labels", literal("time", "30, 20"), relabel("time", "30, 20", "29, 20")),
        ("labels", literal("time", "November"), relabel("time", "November", "October")),
        ("labels", literal("quantity", "$"), relabel("quantity", "$", "€")),
        ("labels", literal("quantity", ","), relabel("quantity", ",", "")),
        (
            "labels",
            lambda row: any((v["short"] or "").endswith("M") for v in row["objects"]),
            relabel("quantity", "M", "B", "short"),
        ),
        (
            "labels",
            lambda row: any((v["short"] or "").endswith("M") for v in row["objects"]),
            relabel("quantity", "M", " kilograms", "short"),
        ),
        ("prompt", dated, other_prompt),
        ("prompt", dated, lambda row: row["generalization_prompts"].pop()),
        ("prompt", dated, lambda row: row["generalization_prompts"].reverse()),
        ("prompt", dated, lambda row: row.update(update_prompt=row["update_prompt"] + " today")),
        (
            "leak",
            lambda row: dated(row) and not any(value["leaks"] for value in row["objects"]),
            lambda row: row.update(update_prompt=f"{decided(row, 'new')['label']}: {row['update_prompt']}"),
        ),
        (
            "drawn",
            dated,
            lambda row: row.update(split="train" if row["split"] == "test" else "test"),
        ),
        ("popularity", dated, lambda row: row.update(subject_popularity=row["subject_popularity"] + 0.1)),
        ("popularity", dated, lambda row: row.update(popularity_source="pageviews")),
        ("prompt", dated, lambda row: row.update(template_source="chat")),
        ("neighbour", dated, neighbour("relation.id", "P1376")),
        ("neighbour", dated, lambda row: row["neighborhood"].append(row["neighborhood"][0])),
        (
            "neighbour",
            dated,
            lambda row: row["neighborhood"][0]["subject"].update(id=row["subject"]["id"]),
        ),
        ("neighbour_fact", dated, neighbour("objects.raw", "Q2")),
        ("neighbour_fact", dated, neighbour("objects.statement", "Q1$0")),
        ("neighbour_words", dated, neighbour("subject.label", "Utopia")),
        ("neighbour_words", dated, neighbour("subject.description", "an island")),
        ("neighbour_words", dated, neighbour("popularity", lambda value: value + 0.1)),
        ("neighbour_words", dated, neighbour("objects.prompt", "The capital of Utopia is ____")),
        ("neighbour_words", dated, neighbour("objects.object.label", "Nobody", "random_neighborhood")),
        ("distance", dated, neighbour("dist", lambda value: value + 0.001)),
        ("distance", dated, neighbour("dist", 0.5, "random_neighborhood")),
        ("distance", dated, lambda row: row["neighborhood"].reverse()),
        ("distance", dated, shuffled_dist),
        ("nearest", dated, lambda row: row["neighborhood"].pop(0)),
        ("random", dated, lambda row: row["random_neighborhood"].pop()),
        ("random", dated, lambda row: row["neighborhood"].extend(row["neighborhood"] * 10)),
        ("popularity", dated, lambda row: row.update(subject_popularity=row["subject_popularity"] + 1e-9)),
        ("labels", dated, lambda row: row["objects"][0].update(short="x")),
        (
            "labels",
            lambda row: any(value["short"] for value in row["objects"]),
            lambda row: next(value for value in row["objects"] if value["short"]).update(short=None),
        ),
        (
            "labels",
            lambda row: row["subject"]["description"],
            lambda row: row["subject"].update(description=None),
        ),
        (
            "statement",
            lambda row: any(not value["old_statement"] for value in row["objects"]),
            lambda row: next(v for v in row["objects"] if not v["old_statement"]).update(old_revision=1),
        ),
        ("prompt", dated, lambda row: row.update(update_prompt=f"As of 2023, {row['update_prompt']}")),
        ("new", dated, lambda row: decided(row, "obsolete").update(decision="new")),
        ("single", dated, lambda row: decided(row, "obsolete").update(decision="new")),
        (
            "single",
            lambda row: (
                not row["is_replace"] and {value["decision"] for value in row["objects"]} == {"new", "static"}
            ),
            lambda row: row.update(is_replace=True),
        ),
        (
            "random",
            dated,
            lambda row: row["random_neighborhood"][0]["objects"][0].update(statement="Q1$0"),
        ),
    ],
    QUESTIONS: [
        ("order", lambda row: row["hop"] == 0, lambda row: row.update(item_id="0" * 16)),
        ("chain", lambda row: row["hop"] == 2, lambda row: row.update(item_id="0" * 16)),
        ("answer", lambda row: row["open_only"], lambda row: row.update(answer_label="Utopia")),
        ("answer", lambda row: row["answer_aliases"], lambda row: row.update(answer_aliases=[])),
        ("answer", lambda row: row["hop"] == 3, lambda row: row.update(answer_aliases=["Utopia"])),
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
        ("wording", lambda row: row["hop"] == 0, lambda row: row.update(context="Utopia is an island.")),
        ("wording", lambda row: row["hop"] == 2, lambda row: row.update(question="Who is it?")),
        (
            "wording",
            lambda row: row["hop"] == 0,
            lambda row: row.update(question=row["question"].upper()[:-9]),
        ),
        ("marks", lambda row: row["hop"] == 0, lambda row: row.update(as_of=row["as_of"].replace(day=30))),
        ("marks", lambda row: row["hop"] == 1, lambda row: row.update(task=row["task"] ^ 7)),
        ("marks", lambda row: row["hop"] == 1, lambda row: row.update(hop=2)),
        ("marks", lambda row: row["discriminates"], lambda row: row.update(discriminates=False)),
        ("marks", lambda row: row["discriminates"] is None, lambda row: row.update(discriminates=True)),
        ("marks", lambda row: row["hop"] == 1, lambda row: row.update(asked_s="Q2")),
        ("marks", lambda row: row["hop"] == 1, lambda row: row.update(rel_id="0" * 16)),
        ("marks", lambda row: not row["open_only"], lambda row: row.update(open_only=True)),
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
        (
            "options",
            lambda row: row["options"],
            lambda row: row["options"].__setitem__((row["answer_index"] + 1) % 4, row["answer_label"]),
        ),
        (
            "key",
            lambda row: row["options"],
            lambda row: row.update(answer_index=(row["answer_index"] + 1) % 4),
        ),
        (
            "labels",
            lambda row: row["options"] and row["option_ids"][0][0] == "Q",
            lambda row: row["option_ids"].__setitem__(0, "Q30"),
        ),
    ],
    KLOB: [
        ("fact", lambda row: row["subtask"] == "c", lambda row: row.update(o1="Q2")),
        ("fact", lambda row: row["subtask"] == "c", lambda row: row.update(stmt1_id="Q1$0")),
        ("fact", lambda row: row["subtask"] == "r", lambda row: row.update(stmt2_id=row["stmt1_id"])),
        ("fact", lambda row: row["subtask"] == "r", lambda row: row.update(p2="P2")),
        ("fact", lambda row: row["subtask"] == "c", lambda row: row.update(s_label="Utopia")),
        ("fact", lambda row: row["subtask"] == "c", lambda row: row.update(o1_aliases=["Utopia"])),
        ("fact", lambda row: row["subtask"] == "c", lambda row: row.update(rev_s=1)),
        ("fact", lambda row: row["subtask"] == "c", lambda row: row.update(pop_o=-1)),
        ("fact", lambda row: row["subtask"] == "c", lambda row: row.update(snapshot_id="2021-01-04")),
        ("sentence", lambda row: row["subtask"] == "c", lambda row: row.update(example_id="0" * 16)),
        ("sentence", lambda row: row["subtask"] == "c", lambda row: row["sentences"].reverse()),
        ("sentence", lambda row: row["subtask"] == "c", lambda row: row["sentences"][0].update(n_tokens=99)),
        (
            "sentence",
            lambda row: row["subtask"] == "c",
            lambda row: row["sentences"][0].update(target_label="Utopia"),
        ),
        ("sentence", lambda row: row["subtask"] == "c", lambda row: row.update(stmt2_id="Q2$0")),
        ("sentence", lambda row: row["subtask"] == "u", lambda row: row.update(s="Q2")),
        (
            "sentence",
            lambda row: row["subtask"] == "u",
            lambda row: row["sentences"][0].update(target_id="Q2"),
        ),
        (
            "sentence",
            lambda row: row["subtask"] == "u",
            lambda row: row["sentences"][0].update(source_sentence_id=None),
        ),
        (
            "sentence",
            lambda row: row["subtask"] == "r",
            lambda row: row["sentences"][3].update(text="It is", text_blank="It is _", n_tokens=3),
        ),
        (
            "sentence",
            lambda row: row["subtask"] == "c",
            lambda row: row["sentences"][1].update(template_id=row["sentences"][0]["template_id"]),
        ),
        (
            "words",
            lambda row: row["subtask"] == "u",
            lambda row: row["sentences"][0].update(source_sentence_id="0" * 16),
        ),
        (
            "words",
            lambda row: row["subtask"] == "u",
            lambda row: row["sentences"][0].update(n_tokens=row["sentences"][0]["n_tokens"] + 1),
        ),
    ],
    STREAM: [
        ("dated", lambda row: row["date"], lambda row: row.update(date="2022-02-30")),
        ("dated", lambda row: row["date"], lambda row: row.update(first_day=20200101)),
        (
            "dated",
            lambda row: row["changes"][0]["dated_by"] == "start",
            lambda row: row["changes"][0].update(date="2022"),
        ),
        (
            "dated",
            lambda row: any(change["lag_min"] is not None for change in row["changes"]),
            lambda row: next(c for c in row["changes"] if c["lag_min"] is not None).update(lag_min=10**6),
        ),
        (
            "dated",
            lambda row: row["lag_min"] is not None,
            lambda row: row.update(lag_min=row["lag_min"] - 1),
        ),
        (
            "dated",
            lambda row: any(value["decision"] == "static" for value in row["objects"]),
            lambda row: first(row, "static", date="2022", first_day=20220101, last_day=20221231),
        ),
        ("dated", lambda row: row["dated_by"] == "start", lambda row: row.update(dated_by="end")),
        (
            "dated",
            lambda row: row["changes"][0]["dated_by"] == "start",
            lambda row: row["changes"][0].update(date=None, dated_by="interval"),
        ),
        (
            "dated",
            lambda row: row["changes"][0]["dated_by"] == "created",
            lambda row: row["changes"][0].update(date=None, dated_by="interval"),
        ),
        (
            "dated",
            lambda row: row["changes"][0]["dated_by"] == "value",
            lambda row: row["changes"][0].update(date=row["changes"][0]["date"][:-1] + "x"),
        ),
        ("dated", lambda row: row["dated_by"], lambda row: row.update(dated_by="guess")),
    ],
    ASOF: [
        (
            "held",
            lambda row: row["options"],
            lambda row: row.update(answer_index=(row["answer_index"] + 1) % 4),
        ),
        ("held", lambda row: row["open_only"], lambda row: row.update(answer_label="Utopia")),
        ("asked", lambda row: row["precision"] == "day", lambda row: row.update(question="Who is it?")),
        ("asked", lambda row: row["context"], lambda row: row.update(context="Utopia is an island.")),
        ("asked", lambda row: row["context"], lambda row: row.update(context=None)),
        ("asked", lambda row: row["context"], lambda row: row.update(question=f"Yes: {row['question']}")),
        ("asked", lambda row: row["discriminates"], lambda row: row.update(discriminates=False)),
        ("asked", lambda row: row["answer_aliases"], lambda row: row["answer_aliases"].pop()),
        ("marks", lambda row: row["precision"], lambda row: row["flags"].append("returning")),
        ("marks", lambda row: row["precision"] == "day", lambda row: row.update(precision="month")),
        ("marks", lambda row: row["precision"] == "month", lambda row: row.update(first_day=20000101)),
        ("marks", lambda row: row["options"], lambda row: row.update(as_of=row["as_of"].replace(year=1999))),
        ("marks", lambda row: row["holds"] == "now", lambda row: row.update(holds="before")),
        ("marks", lambda row: row["options"], lambda row: row.update(s="Q2")),
        ("options", lambda row: row["options"], lambda row: row["option_verdicts"].reverse()),
        (
            "options",
            lambda row: row["options"],
            lambda row: row["options"].__setitem__((row["answer_index"] + 1) % 4, row["answer_label"]),
        ),
    ],
}
"""Dataset -> kind that must see it, rows that have the place for it, the change."""

Pair = Callable[[Row, Row], object]

FROM_OTHERS: list[tuple[str, str, Callable[[Row], object], Pair]] = [
    (
        UPDATES,
        "template",
        dated,
        lambda row, other: row.update(
            update_prompt=other["update_prompt"].replace(other["subject"]["label"], row["subject"]["label"])
        ),
    ),
    (UPDATES, "unique", dated, lambda row, other: row.update(update_prompt=other["update_prompt"])),
    (UPDATES, "prompt", dated, lambda row, other: row.update(update_prompt=other["update_prompt"])),
    (UPDATES, "rules", dated, lambda row, other: row.update(objects=other["objects"])),
    (UPDATES, "distance", dated, lambda row, other: row.update(neighborhood=other["neighborhood"])),
    (
        UPDATES,
        "neighbour_answer",
        dated,
        lambda row, other: row["neighborhood"][0]["objects"][0].update(raw=decided(row, "new")["raw"]),
    ),
    (QUESTIONS, "unique", lambda row: True, lambda row, other: row.update(question=other["question"])),
    (QUESTIONS, "wording", lambda row: True, lambda row, other: row.update(context=other["context"])),
    (QUESTIONS, "marks", lambda row: True, lambda row, other: row.update(s=other["s"])),
    (QUESTIONS, "statement", lambda row: True, lambda row, other: row.update(fact_id=other["fact_id"])),
    (
        QUESTIONS,
        "statement",
        lambda row: row["hop"] > 0,
        lambda row, other: row.update(rel_id=other["rel_id"]),
    ),
    (ASOF, "asked", lambda row: True, lambda row, other: row.update(context=other["context"])),
    (ASOF, "asked", lambda row: True, lambda row, other: row.update(question=other["question"])),
    (
        KLOB,
        "sentence",
        lambda row: row["subtask"] == "r",
        lambda row, other: row["sentences"][3].update(
            {name: other["sentences"][3][name] for name in ("text", "text_blank", "n_tokens")}
        ),
    ),
    (KLOB, "fact", lambda row: row["subtask"] == "c", lambda row, other: row.update(s=other["s"])),
]
"""Dataset, kind that must see it, rows that have the place for it, the change by another relation's row."""
