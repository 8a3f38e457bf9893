"""Errors that are planted into rows of the default build: each with the kind of check that must see it."""

from collections.abc import Callable
from typing import Any

from factdrift.audit.kinds import ASKED, ASOF, CORPUS, KLOB, QUESTIONS, RIPPLES, STREAM, UPDATES
from factdrift.ripples.tables import CRITERIA

Row = dict[str, Any]
Change = Callable[[Row], object]


def decided(row: Row, decision: str) -> Row:
    return next(value for value in row["objects"] if value["decision"] == decision)


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
TWO_ANSWERS = (
    of(options=bool),
    lambda row: row["options"].__setitem__(next_option(row), row["answer_label"]),
)
ASKS_NOW = of(criterion="specific", prompt=lambda text: " is ____" in text)
ASKED_THEN = of(criterion=lambda name: name.startswith("history"), prompt=lambda text: " was " in text)


PLANTS: dict[str, list[tuple[str, Callable[[Row], object], Change]]] = {
    UPDATES: [
        ("rules", one("objects", has("announced")), put_one("objects", has("announced"), announced=False)),
        ("labels", dated, at("objects.0.short", "x")),
        ("labels", lambda row: row["subject"]["description"], at("subject.description", None)),
        ("labels", literal("time", "30, 20"), relabel("time", "30, 20", "29, 20")),
        ("labels", literal("quantity", "$"), relabel("quantity", "$", "€")),
        ("labels", IN_MILLIONS, relabel("quantity", "M", "B", "short")),
        ("labels", IN_MILLIONS, relabel("quantity", "M", " kilograms", "short")),
        ("gone", dated, decide("new", decision="obsolete")),
        ("static", dated, decide("obsolete", decision="static")),
        ("single", of(is_replace=False, objects=adds), put(is_replace=True)),
        ("statement", one("objects", ADDED), put_one("objects", ADDED, old_revision=1)),
        (
            "leak",
            unleaked,
            put(update_prompt=lambda row: f"{decided(row, 'new')['label']}: {row['update_prompt']}"),
        ),
        ("popularity", dated, put(popularity_source="pageviews")),
        ("prompt", dated, put(template_source="chat")),
        ("prompt", dated, do("generalization_prompts", list.reverse)),
        ("prompt", dated, at("update_prompt", lambda text: f"As of 2023, {text}")),
        ("neighbour_words", dated, at("neighborhood.0.objects.0.object.id", None)),
        ("neighbour_words", of(neighborhood=in_words), at("neighborhood.0.objects.0.object.label", "12")),
        ("distance", dated, shifted),
        ("nearest", dated, do("neighborhood", list.pop, 0)),
        ("random", dated, lambda row: row["neighborhood"].extend(row["neighborhood"] * 10)),
    ],
    QUESTIONS: [
        ("order", of(hop=0), put(item_id="0" * 16)),
        ("chain", of(hop=2), put(item_id="0" * 16)),
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
        ("marks", of(discriminates=None), put(discriminates=True)),
        ("marks", of(flags=without("returning")), do("flags", list.append, "returning")),
        ("marks", of(flags=lambda flags: "year_only" in flags), do("flags", list.remove, "year_only")),
        ("marks", of(flags=without("answer_in_context")), do("flags", list.append, "answer_in_context")),
        (
            "options",
            of(options=bool, task=2),
            lambda row: row["options"].__setitem__(next_option(row), "Utopia"),
        ),
        ("options", *TWO_ANSWERS),
        ("labels", of(options=bool, option_ids=begins("Q")), at("option_ids.0", "Q999999999")),
    ],
    KLOB: [
        ("sentence", of(subtask="u"), at("sentences.0.target_id", "Q2")),
        ("sentence", of(subtask="u"), at("sentences.0.source_sentence_id", None)),
        ("sentence", of(subtask="r"), do("sentences.3", dict.update, IT_IS)),
    ],
    STREAM: [
        ("dated", one("changes", LAGGING), put_one("changes", LAGGING, lag_min=10**6)),
        ("dated", LAGGING, at("lag_min", lambda value: value - 1)),
        ("dated", one("objects", of(decision="static")), static_in_2022),
        ("dated", first_dated_by("start"), do("changes.0", dict.update, UNDATED)),
        ("dated", first_dated_by("created"), do("changes.0", dict.update, UNDATED)),
        ("dated", first_dated_by("value"), at("changes.0.date", lambda date: f"{date[:-1]}x")),
        ("dated", has("dated_by"), put(dated_by="guess")),
    ],
    RIPPLES: [
        ("path", of(kind="reverse"), at("answers.0.id", "Q2")),
        ("path", of(kind="inverse"), put(kind="symmetric")),
        ("path", of(kind="inverse"), put(asked_relation=lambda row: row["relation"])),
        ("only", of(criterion="compose_object"), at("path.-1.relation", "P1")),
        ("tenure", of(criterion="history_old"), put(date="2021-03")),
        ("tenure", of(criterion="history_new"), put(date="2020-03")),
        ("tenure", of(criterion="history_old"), put(date="1900-03")),
        ("tenure", of(criterion="history_new"), put(date=None)),
        ("probe", of(criterion="logical"), lambda row: row["stale"].extend(row["answers"])),
        ("probe", said_in_words("specific"), at("answers.0.label", "May 5, 1066")),
        ("probe", said_in_words("neighbor"), at("answers.0.label", "May 5, 1066")),
        ("probe", said_in_words("specific"), at("answers.0.aliases", ["Utopia"])),
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
        ("probe", of(kind="reverse"), do("stale", list.append, EARTH)),
        ("probe", of(must_change=None), put(must_change=True)),
        ("probe", of(criterion="compose_subject"), put(must_change=None)),
        *(
            ("prompt", of(criterion=each), put(prompt="The number of legs of Napoleon is ____"))
            for each in CRITERIA
        ),
        ("prompt", ASKED_THEN, at("prompt", lambda text: text.replace(" was ", " is "))),
        ("prompt", ASKS_NOW, at("prompt", lambda text: text.replace(" is ____", " was ____"))),
        ("prompt", of(criterion="history_new"), at("prompt", lambda text: text.partition(", ")[2])),
        ("prompt", of(criterion="history_old"), at("date", other_month)),
    ],
    ASOF: [
        ("asked", has("context"), put(context="Utopia is an island.")),
        ("asked", has("context"), put(context=None)),
    ],
    CORPUS: [
        ("sentences", has("text"), at("facts.0.end", lambda end: end - 3)),
        ("sentences", has("text"), at("facts.0.start", lambda start: start + 2)),
        ("sentences", has("text"), at("facts.0.tense", "cited")),
    ],
    ASKED: [
        ("held", of(kind="next"), at("question", other_side)),
        ("held", of(kind="hop"), put(answer_id=lambda row: row["stale_ids"][0])),
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
        ("documents", of(kind="now", right_docs=bool), put(known_at="2015-01-01")),
    ],
}
"""Dataset -> kind that must see it, rows with the place for it, the change; what no fault by chance is."""

Pair = Callable[[Row, Row], object]


def take(name: str) -> Pair:
    return lambda row, other: row.update({name: other[name]})


FROM_OTHERS: list[tuple[str, str, Callable[[Row], object], Pair]] = [
    (UPDATES, "unique", dated, take("update_prompt")),
    (UPDATES, "distance", dated, take("neighborhood")),
    (
        UPDATES,
        "neighbour_answer",
        dated,
        lambda row, other: row["neighborhood"][0]["objects"][0].update(raw=decided(row, "new")["raw"]),
    ),
    (QUESTIONS, "unique", of(), take("question")),
    (ASOF, "asked", of(), take("context")),
]
"""Dataset, kind that must see it, rows that have the place for it, the change by another relation's row."""
