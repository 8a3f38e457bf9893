"""The table of all cells: what is counted together."""

from support.tables import written

from factdrift.evaluation.questions.updates import EDITS
from factdrift.evaluation.scores.grid import lines, write_grid
from factdrift.evaluation.tables import ANSWERS, TABLES

PROBES = [("update", "new"), ("update", "obsolete"), ("nearest", "neighbor"), ("random", "neighbor")]


def test_old_objects_are_counted_apart_from_new_ones(tmp_path):
    told = {"model": "m", "edit": "Q1-P6"}
    probes = [{"role": role, "object": kind, "target": kind} for role, kind in PROBES]
    edits = written(tmp_path / "edits.parquet", EDITS, [told | {"probes": probes}])
    asked = [
        told
        | {"method": "rome", "benchmark": name, "kind": kind, "way": way, "question": f"Q1-P6#{number}"}
        | {"role": role, "exact": [number in (0, 3)] if way == "loglik" else None, "correct": right}
        for name, kind in (("updates", ""), ("stream", "retention"))
        for way, right in (("loglik", None), ("written", True))
        for number, (role, _) in enumerate(PROBES)
    ]
    answers = written(tmp_path / "answers.parquet", ANSWERS, asked)
    made = written(tmp_path / "made.parquet", TABLES["edits"], [told | {"method": "rome", "trained": False}])
    table = write_grid([answers], [made], tmp_path / "grid.parquet", [edits])
    found = {
        (row["benchmark"], row["way"], row["kind"]): (row["right"], row["judged"])
        for row in table.to_pylist()
    }
    assert found == {
        ("updates", "loglik", "new object"): (1, 1),
        ("updates", "loglik", "old object"): (0, 1),
        ("updates", "loglik", "neighbors"): (1, 2),
        ("updates", "written", "all"): (2, 2),
        ("updates", "written", "neighbors"): (2, 2),
        ("stream", "loglik", "retention, new object"): (1, 1),
        ("stream", "loglik", "retention, old object"): (0, 1),
        ("stream", "loglik", "retention"): (1, 2),
        ("stream", "written", "retention"): (4, 4),
    }
    assert "loglik, old object" in "\n".join(lines(table, [], []))
    whole = write_grid([answers], [made], tmp_path / "grid.parquet")
    assert {row["kind"] for row in whole.to_pylist()} == {"all", "neighbors", "retention"}
