"""What random tables do not show of the records: articles, names, and what makes an assembly impossible."""

from dataclasses import replace

import pyarrow.parquet as pq
import pytest

from factdrift.core.errors import InputError

from .conftest import (
    BIDEN,
    FRANCE,
    P6,
    P1082,
    TRUMP,
    UPDATED,
    USA,
    Row,
    amount_json,
    entity,
    near,
    number,
    triple,
)


def by_ids(records: list[Row]) -> dict[tuple[str, str], Row]:
    return {(row["subject"]["id"], row["relation"]["id"]): row for row in records}


def test_popular_neighbours_are_a_column_more_and_change_no_other(build):
    files = build()
    plain = pq.read_table(files.assemble())
    table = pq.read_table(files.assemble("more", popular_neighbors=files.job.neighbors))
    assert table.drop_columns(["popular_neighborhood"]).equals(plain)
    assert table.schema.names.index("popular_neighborhood") == table.schema.names.index("scenario") - 1

    def facts(row: Row, column: str) -> list[Row]:
        values = [[value | {"prompt": None} for value in fact["objects"]] for fact in row[column]]
        return [fact | {"objects": own} for fact, own in zip(row[column], values, strict=True)]

    for row in table.to_pylist():
        assert facts(row, "popular_neighborhood") == facts(row, "neighborhood")


def test_the_classes_of_the_new_dump_decide_on_the_article(build):
    """A currency is called with its article: the euro."""
    currency, town = [8142], [515]
    new = [entity(FRANCE, "dinar", classes=currency), entity(USA, "peso", classes=town), entity(90, "Paris")]
    old = [entity(FRANCE, "dinar", classes=town), entity(USA, "peso", classes=currency)]
    rows = [number(subject, "F+", "new", "68") for subject in (FRANCE, USA)]
    files = build(updates=rows, new_entities=new, old_entities=old, neighbors=[], random_neighbors=[])
    prompts = {row["subject"]["label"]: row["update_prompt"] for row in files.records()}
    names = {"dinar": "the dinar", "peso": "peso"}
    assert prompts == {label: f"The population of {name} is ____" for label, name in names.items()}


def test_each_object_is_shown_as_its_own_statement_writes_it(build):
    shown = [
        {"datatype": "quantity", "key": "1000", "json": amount_json(text)}
        | dict.fromkeys(("label", "raw"), f"+{text}")
        for text in ("1000", "1000.0")
    ]
    rows = [
        number(USA, "F-", "obsolete", "1000.0", key="1000"),
        number(USA, "F+", "new", "1000", key="1000", new_position=1),
        # For a statement of both dumps the new dump's form counts.
        number(FRANCE, "F0", "new", "1000", key="1000", old_json=amount_json("1000.0")),
    ]
    facts = [near(USA, P1082, 1, FRANCE, None, key="1000", json=amount_json("1000.0"))]
    records = by_ids(build(updates=rows, literals=shown, neighbors=facts).records())
    objects = records["Q30", "P1082"]["objects"]
    assert [each["label"] for each in objects] == [each["raw"] for each in objects] == ["+1000.0", "+1000"]
    assert records["Q142", "P1082"]["objects"][0]["raw"] == "+1000"
    assert records["Q30", "P1082"]["neighborhood"][0]["objects"][0]["raw"] == "+1000.0"


def test_same_bytes_for_any_order_of_rows_and_threads(build):
    first = build().assemble("first").read_bytes()
    assert build(updates=UPDATED[::-1]).assemble("second", threads=2).read_bytes() == first


def test_labels_from_a_file(build):
    """Of entities and relations that the dumps lack."""
    new = [entity(BIDEN, "Joe Biden"), entity(900_000_001, "New Land")]
    files = build(new_entities=new, old_properties=[], new_properties=[])
    with pytest.raises(InputError, match="Q90 is part of an update"):
        files.assemble()
    given = files.folder / "labels.tsv"
    given.write_text('id\tlabel\nQ90\t"Paris", the city\nQ30\tnot this\nP6\thead of government\n')
    files.job = replace(files.job, labels=(given,))
    records = by_ids(files.records())
    assert records["Q900000001", "P36"]["objects"][0]["label"] == '"Paris", the city'
    assert records["Q900000001", "P36"]["relation"]["label"] is None
    assert records["Q30", "P6"]["subject"]["label"] == "USA"
    head = {"id": "P6", "label": "head of government", "description": None}
    assert records["Q30", "P6"]["relation"] == head


def test_what_is_not_verbalized_is_named(build):
    with pytest.raises(InputError, match=r"templates\.parquet: no template for P6, P36"):
        build(templates=[{"property": P1082, "rank": 1, "template": "{subject} {object}"}]).assemble()
    with pytest.raises(InputError, match=r"literals\.parquet: no display form of the quantity 331"):
        build(literals=[]).assemble()


def test_subjects_of_one_name_are_marked_or_told_apart_by_their_descriptions(build):
    """Georgia twice, and of the neighbours one that has the name of a subject."""
    georgia, state, victoria, queen = 900_000_001, 142, 900_000_002, 900_000_003
    entities = [
        entity(georgia, "Georgia", "sovereign state"),
        entity(state, "Georgia", "state whose head is joe BIDEN"),
        *(entity(victoria, "Victoria", "state of Australia"), entity(queen, "Victoria")),
        *(entity(USA, "United States", "country"), entity(BIDEN, "Joe Biden"), entity(90, "Paris")),
    ]
    rows = [triple(subject, P6, "F+", "new", BIDEN) for subject in (georgia, state, USA)]
    facts = [near(USA, P6, 1, victoria, 90), near(USA, P6, 2, queen, 90), near(USA, P6, 3, georgia, 90)]
    files = build(updates=rows, new_entities=entities, old_entities=[], neighbors=facts, random_neighbors=[])
    prompt = "The head of government of {} is ____"
    records = by_ids(files.records())
    assert records["Q900000001", "P6"]["update_prompt"] == prompt.format("Georgia")
    assert [row["subject_is_ambiguous"] for row in records.values()] == [False, True, True]
    records = by_ids(files.records(subject_names="unique"))
    first, second, usa = (records[key, "P6"] for key in ("Q900000001", "Q142", "Q30"))
    assert first["update_prompt"] == prompt.format("Georgia (sovereign state)")
    assert first["generalization_prompts"][0] == "Who leads Georgia (sovereign state) is ____"
    # The description would tell the answer.
    assert second["update_prompt"] == prompt.format("Georgia")
    assert usa["update_prompt"] == prompt.format("the United States")
    assert first["subject"]["label"] == "Georgia"
    prompts = [fact["objects"][0]["prompt"] for fact in usa["neighborhood"]]
    names = ("Victoria (state of Australia)", "Victoria", "Georgia (sovereign state)")
    assert all(f" {name} " in asked for asked, name in zip(prompts, names, strict=True))


def test_objects_have_their_article_where_all_of_a_group_do(build):
    rows = [triple(subject, P6, "F+", "new", BIDEN) for subject in (USA, FRANCE)]
    rows += [triple(subject, P6, "F-", "obsolete", old) for subject, old in ((USA, TRUMP), (FRANCE, 90))]
    entities = [entity(USA, "Joe Biden"), entity(FRANCE, "Lakers", classes=[5]), entity(90, "Likud")]
    entities += [entity(BIDEN, "Democratic Party"), entity(TRUMP, "Republican Party")]
    facts = [near(USA, P6, 1, FRANCE, BIDEN), near(USA, P6, 2, FRANCE, 90)]
    files = build(updates=rows, new_entities=entities, old_entities=[], neighbors=facts, random_neighbors=[])
    records = by_ids(files.records())
    assert records["Q30", "P6"]["update_prompt"] == "The head of government of Joe Biden is the ____"
    assert records["Q142", "P6"]["update_prompt"] == "The head of government of Lakers is ____"
    first, second = (fact["objects"][0]["prompt"] for fact in records["Q30", "P6"]["neighborhood"])
    assert (first.endswith(" the ____"), second.endswith(" the ____")) == (True, False)
    plain = by_ids(files.records(grammar="plain"))["Q30", "P6"]
    assert plain["update_prompt"] == "The head of government of Joe Biden is ____"
