"""Edits of a stream: their order, and what becomes of each."""

import datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from support.stream_updates import link, links, stream, stream_edits

from factdrift.core.errors import InputError
from factdrift.evaluation.plan import by_interval
from factdrift.evaluation.questions.clozes import read_edits
from factdrift.evaluation.questions.question import Benchmark, Question
from factdrift.evaluation.questions.updates import Choice, write_stream_edits


def edits(folder: Path, rows: list[dict[str, Any]] | None = None, **choices: Any) -> list[dict[str, Any]]:
    path = stream(folder / "stream.parquet", rows)
    write_stream_edits(path, folder / "edits.parquet", Choice(**choices))
    return pq.read_table(folder / "edits.parquet").to_pylist()


def test_in_the_order_in_which_the_world_changed(tmp_path):
    found = {row["edit"]: row for row in edits(tmp_path, links()[::-1])}
    # In the first interval New Orleans changed before Atlantis.
    assert {edit: row["superseded_in"] for edit, row in found.items()} == {
        **{"Q2-P6@1": None, "Q1-P6@1": 2, "Q1-P6@2": 3, "Q3-P6@2": None},
        # By an update that is no replacement.
        **{"Q1-P6@3": 4, "Q4-P6@3": 4, "Q4-P6@4": None},
    }
    order = ["Q2-P6@1", "Q1-P6@1", "Q1-P6@2", "Q3-P6@2", "Q1-P6@3", "Q4-P6@3", "Q4-P6@4"]
    replaced = [[], [], ["Q1-P6@1"], [], ["Q1-P6@1", "Q1-P6@2"], [], ["Q4-P6@3"]]
    assert [(edit, row["replaces"]) for edit, row in found.items()] == [*zip(order, replaced, strict=True)]
    # Later objects are asked with the edit's own prompt.
    first = found["Q1-P6@1"]
    later = [probe for probe in first["probes"] if probe["role"] == "later"]
    targets = [(2, "Zoë Müller"), (3, "Marta Kowalska")]
    assert [(probe["place"], probe["target"]) for probe in later] == targets
    assert {probe["prompt"] for probe in later} == {first["prompt"]}


def test_dated_edits_have_the_month_of_their_interval(tmp_path):
    plain, dated = edits(tmp_path), edits(tmp_path, dated=True)
    for one, other in zip(plain, dated, strict=True):
        year, month, _ = map(int, one["new_date"].split("-"))
        assert other["prompt"].startswith(f"As of {datetime.date(year, month, 1):%B %Y}, the ")
        assert other | {"prompt": None} == one | {"prompt": None}


def test_whole_chains_are_drawn(tmp_path):
    rows = edits(tmp_path, limit=4)
    assert len(rows) == 4
    whole = edits(tmp_path)
    for chain in {row["chain"] for row in rows}:
        mine = [row["edit"] for row in rows if row["chain"] == chain]
        # Only the last chain may be cut, and at its end.
        assert mine == [row["edit"] for row in whole if row["chain"] == chain][: len(mine)]


def test_additions_and_archives(tmp_path):
    rows = edits(tmp_path, scenarios=["replacement", "archive"], archive_target="nobody")
    (last,) = (row for row in rows if row["kind"] == "archive")
    assert (last["edit"], last["target"], last["new"]) == ("Q1-P6@4", "nobody", None)
    assert "Q1-P6@3" in last["replaces"]


def test_two_new_objects_of_one_label_end_each_in_its_own_interval(tmp_path):
    row = link("Atlantis", 1, 1, 1, (None, "Joe"), scenario="AddObject")
    row["objects"] += [{"label": None, "decision": "new"}, {"label": "Joe", "decision": "new"}]
    row["changes"] = [{"superseded_by": by} for by in (None, 2, 2)]
    found = edits(tmp_path, [row, link("Atlantis", 1, 2, 2, ("Joe", "Zoë"))], scenarios=["add_object"])
    assert [each["superseded_in"] for each in found] == [None, 2]


def test_other_benchmarks_are_asked_with_the_last_edit_of_their_subject_and_relation(tmp_path):
    stream = read_edits(stream_edits(tmp_path / "edits.parquet"))
    names = ("Q1-P6", "Q1-P6-2", "Q9-P6", "")
    asked = Benchmark("updates", [Question(f"q{place}", edit) for place, edit in enumerate(names)])
    steps = by_interval(stream, asked, 5, 0)
    assert [each.edit for each in steps[1].asked] == ["Q1-P6@2", "Q1-P6@2", "", ""]


def test_other_tables_are_refused(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        write_stream_edits(tmp_path / "none.parquet", tmp_path / "out.parquet", Choice())
    rows = [{key: value for key, value in row.items() if key != "link"} for row in links()]
    with pytest.raises(InputError, match="no column link"):
        edits(tmp_path, rows)
    with pytest.raises(InputError, match="no update of add_entity"):
        edits(tmp_path, scenarios=["add_entity"])


def test_new_objects_later_ones_and_the_first_neighbours_are_asked_in_writing(tmp_path):
    benchmark = read_edits(stream_edits(tmp_path / "edits.parquet"))
    for question in benchmark.questions:
        row = benchmark.rows[question.edit]
        probe = row["probes"][int(question.id.partition("#")[2])]
        asked = probe["object"] in ("new", "later", "neighbor")
        assert question.ways == (("loglik", "written") if asked else ("loglik",))
        assert question.accepted == ((probe["target"],) if asked else ())
        if probe["object"] == "new":
            assert question.stale == ((row["obsolete"],) if row["obsolete"] else ())
        elif probe["object"] == "later":
            assert row["new"] in question.stale
            assert probe["target"] not in question.stale
            after = [
                each for each in row["probes"] if each["role"] == "later" and each["place"] > probe["place"]
            ]
            assert question.others == tuple(each["target"] for each in after)
    steps = by_interval(benchmark, benchmark, 5, 0)
    stale = [each for step in steps for each in step.asked if each.kind == "staleness"]
    # Of a superseded fact only what holds now is right, so its own object is not asked in writing.
    ways = {(each.question.role, each.question.ways) for each in stale}
    assert ways == {("update", ("loglik",)), ("later", ("loglik", "written"))}
