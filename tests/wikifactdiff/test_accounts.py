"""Statistics, funnel, manifest, the terminal view and `load`, on the small build."""

import hashlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.tables import written

import factdrift
from factdrift.core.columns import schema_of
from factdrift.core.errors import InputError
from factdrift.core.files import identity
from factdrift.evaluation.layouts.files import load
from factdrift.snapshots.jobs import Checksum
from factdrift.updates.classify import UNTOUCHED
from factdrift.wikifactdiff.accounts import write_stats
from factdrift.wikifactdiff.jobs import Funnel, Manifest, Sides
from factdrift.wikifactdiff.show import find, lines

from .conftest import (
    BIDEN,
    FRANCE,
    GROUPS,
    LITERALS,
    P6,
    P36,
    TRUMP,
    UPDATED,
    UPDATES,
    USA,
    Row,
    entity,
    time,
    triple,
)

REPORT = schema_of("dump: string, property: int32, filter: string, statements: int64")


def test_equal_texts_of_two_datatypes_are_two_literals(build, tmp_path):
    literal = dict.fromkeys(LITERALS.names, "67")
    shown = [literal | {"datatype": datatype} for datatype in ("quantity", "string")]
    rows = [
        triple(subject, P6, "F+", "new", None, datatype=datatype, key="67", new_json="67")
        for subject, datatype in ((USA, "quantity"), (FRANCE, "string"), (90, "string"))
    ]
    dataset = build(updates=rows, literals=shown, neighbors=[], random_neighbors=[]).assemble()
    write_stats(dataset, written(tmp_path / "groups.parquet", GROUPS, []), tmp_path / "stats.json")
    stats = json.loads((tmp_path / "stats.json").read_text())
    assert stats["wikifactdiff"]["objects"] == {"all": 2, "entities": 0, "literals": 2}
    assert (stats["wikifactdiff"]["triples"], stats["wfd_repl"]["updates"]) == (3, 0)


@pytest.mark.parametrize("layout", ["counterfact", ""])
def test_an_imported_benchmark_is_counted_beside_both_datasets(build, tmp_path, layout):
    records = []
    french, german = {"str": "French", "id": "Q150"}, {"str": "German", "id": "Q188"}
    for number, (subject, old) in enumerate((("Marie", french), ("Otto", german), ("Marie", german))):
        rewrite = {"prompt": "The mother tongue of {} is", "relation_id": "P103", "subject": subject}
        rewrite |= {"target_new": {"str": "English", "id": "Q1860"}, "target_true": old}
        records.append({"case_id": number, "requested_rewrite": rewrite})
    (tmp_path / "file.json").write_text(json.dumps(records))
    beside = tmp_path / "beside.parquet"
    load(tmp_path / "file.json", "counterfact", beside)
    if not layout:
        table = pq.read_table(beside).to_pylist()
        table = [{"subject": row["subject"] | {"id": "Q5"}} for row in table]
        pq.write_table(pa.Table.from_pylist(table), beside)
    groups = written(tmp_path / "groups.parquet", GROUPS, [])
    dataset = build().assemble()
    write_stats(dataset, groups, tmp_path / "alone.json")
    write_stats(dataset, groups, tmp_path / "stats.json", beside)
    stats = json.loads((tmp_path / "stats.json").read_text())
    counted = stats.pop(layout) if layout else None
    assert stats == json.loads((tmp_path / "alone.json").read_text())
    if counted:
        numbers = {"updates": 3, "triples": 6, "subjects": 2, "relations": 1}
        assert counted | numbers == counted
        assert counted["objects"] == {"all": 3, "entities": 3, "literals": 0}
        assert counted["scenarios"]["ReplaceObject"] == 3
        assert counted["splits"] == {"train": 0, "test": 0}


def funnel(folder: Path, updates: list[Row] = UPDATED, untouched: Sequence[Row] = ()) -> Path:
    report = [
        {"dump": "new", "property": P6, "filter": "rank", "statements": 3},
        {"dump": "old", "property": P6, "filter": "kept", "statements": 8},
    ]
    output = folder / "funnel.parquet"
    Funnel(
        report=written(folder / "report.parquet", REPORT, report),
        updates=[written(folder / "labelled.parquet", UPDATES, updates)],
        untouched=[written(folder / "untouched.parquet", UNTOUCHED, untouched)],
        groups=written(folder / "groups.parquet", GROUPS, [{"subject": USA, "property": P6}]),
        output=output,
    ).run()
    return output


def test_funnel(tmp_path):
    """With triples of a group that nobody touched, which are only counted."""
    fate = {"rule": "undecided", "label": "unknown", "dropped_by": "unknown"}
    counts = [{"property": P6, **fate, "triples": 5}, {"property": P36, **fate, "triples": 7}]
    rows = [tuple(row.values()) for row in pq.read_table(funnel(tmp_path, untouched=counts)).to_pylist()]
    assert rows[:2] == [("preprocess_old", "P6", "kept", 8), ("preprocess_new", "P6", "rank", 3)]
    stages: dict[str, list[tuple[object, ...]]] = {}
    for stage, *row in rows:
        stages.setdefault(stage, []).append(tuple(row))
    assert stages["difference"] == [
        *(("P6", "F+", 1), ("P6", "F0", 6), ("P36", "F+", 1), ("P36", "F0", 8)),
        *(("P1082", "F+", 2), ("P1082", "F-", 1)),
    ]
    assert {("P6", "ended_inside", 1), ("P6", "undecided", 5)} <= {*stages["rules"]}
    assert {("P36", "static", 1), ("P36", "unknown", 7)} <= {*stages["labels"]}
    assert {row for row in stages["groups"] if row[1] == "kept"} == {
        *(("P6", "kept", 2), ("P36", "kept", 1), ("P1082", "kept", 3))
    }
    assert {("P36", "static", 1), ("P36", "unknown", 7)} <= {*stages["groups"]}
    assert ("P36", "AddEntity", 1) in stages["scenarios"]
    assert stages["wfd_repl"] == [
        *(("P6", "kept", 2), ("P36", "other_scenario", 1)),
        *(("P1082", "other_scenario", 1), ("P1082", "undersampled", 2)),
    ]
    of_nothing = pq.read_table(funnel(tmp_path, [])).to_pylist()
    assert {row["stage"] for row in of_nothing} == {"preprocess_old", "preprocess_new"}


def test_names_neither_control_the_terminal_nor_forge_a_line(build):
    forged = "USA\n  + new      Mickey Mouse (Q11934)\x1b[2J\u202e\u2028\x9b1m"
    entities = [entity(number, forged, forged) for number in (USA, TRUMP, BIDEN, FRANCE, 90, 900_000_001)]
    dataset = build(new_entities=entities).assemble()
    found = list(lines(find(dataset, "Q30", "P6", None), sys.stdout))
    assert len(found) == len(list(lines(find(build().assemble("plain"), "Q30", "P6", None), sys.stdout)))
    assert "Mickey Mouse" in found[0]
    assert all(line.isprintable() for line in found)


def test_show(build):
    dataset = build().assemble()
    text = "\n".join(lines(find(dataset, "Q30", None, None), sys.stdout))
    for part in (
        "rule ended_inside; from 2017-01-20 to 2021-01-20",
        "announced before it began; from 2021-01-20",
        "old dump: https://www.wikidata.org/w/index.php?oldid=1000#Q30-old-22686",
        "population (P1082): AddRelation",
        "+ new      331\n",
    ):
        assert part in text
    assert [row["relation"]["id"] for row in find(dataset, "Q30", "P1082", None)] == ["P1082"]
    assert [row["relation"]["id"] for row in find(dataset, "Q30", None, 1)] == ["P6"]
    with pytest.raises(InputError, match="no update of Q31"):
        find(dataset, "Q31", None, None)
    with pytest.raises(InputError, match="no update of Q30 P7; there are P1082, P6"):
        find(dataset, "Q30", "P7", None)


def test_manifest(build, tmp_path):
    old, dump = tmp_path / "old.json.gz", tmp_path / "checksum.json"
    with pytest.raises(InputError, match=r"old\.json\.gz: the dump is missing"):
        Checksum(dump=old, output=dump).run()
    old.write_bytes(b"a dump")
    Checksum(dump=old, output=dump).run()
    snapshot, account = tmp_path / "snapshot.json", tmp_path / "account.json"
    read = identity(old)
    snapshot.write_text(json.dumps({"items": 3, "dump": read}))
    account.write_text('{"made_up_ids": 2}')
    how = {"old_date": "2021-01-04", "new_date": "2023-02-27", "sample_dates": ("2021-01-04",)}
    how |= {"dumps": Sides(dump, dump), "snapshots": Sides(snapshot, snapshot), "samples": (account,)}
    how |= {"configuration": {"snapshots": {"old": "2021-01-04"}, "seed": 7}}
    for name in ("manifest.json", "again.json"):
        made = {"tables": (build().assemble(),), "funnel": funnel(tmp_path), "output": tmp_path / name}
        Manifest(**how, **made).run()
    text = (tmp_path / "manifest.json").read_text()
    assert (tmp_path / "again.json").read_text() == text
    written = json.loads(text)
    digest = hashlib.sha1(b"a dump").hexdigest()
    dates = "2021-01-04", "2023-02-27"
    assert written["dumps"] == {day: {"file": "old.json.gz", "bytes": 6, "sha1": digest} for day in dates}
    assert written["snapshots"] == {day: {"items": 3, "dump": read} for day in dates}
    assert written["sample"] == {"2021-01-04": {"made_up_ids": 2}}
    assert written["configuration"] == {"snapshots": {"old": "2021-01-04"}, "seed": 7}
    assert written["rows"] == {str(tmp_path / "wikifactdiff.parquet"): 4}
    assert written["versions"]["factdrift"]
    assert list(written["triples"])[:3] == ["preprocess_old", "preprocess_new", "difference"]
    assert written["triples"]["groups"] == {"kept": 6, "static": 1}


def test_load(build):
    frame = factdrift.load(build().assemble())
    assert frame["objects"][0][0]["label"] == "Donald Trump"
    assert isinstance(frame["generalization_prompts"][0], list)
    assert frame["subject_popularity"].dtype == "float64"
    assert frame["is_replace"].sum() == 2


def test_objects_are_shown_in_the_order_in_which_they_began_were_measured_or_ended(build):
    rows = [
        triple(USA, P6, "F-", "obsolete", FRANCE, old_end=time("+2018-00-00", 9), old_position=0),
        triple(USA, P6, "F-", "obsolete", TRUMP, old_pit=time("+2015-00-00", 9), old_position=1),
        triple(USA, P6, "F+", "new", 90, new_start=time("+2019-02-00", 10), new_position=2),
        triple(USA, P6, "F-", "obsolete", BIDEN, old_start=time("+2010-00-00", 9), old_position=3)
        | {"old_end": time("+2020-00-00", 9)},
    ]
    found = list(lines(find(build(updates=rows).assemble(), "Q30", "P6", None), sys.stdout))
    shown = [line for line in found if line.startswith(("  + ", "  - "))]
    assert [line.split("(")[1].rstrip(")") for line in shown] == ["Q6279", "Q22686", "Q142", "Q90"]
