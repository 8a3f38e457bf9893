"""The metrics of the gathered tables, against numbers by hand and a plain oracle."""

import csv
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.examples import examples
from support.tables import written
from support.updates import edits, update

from factdrift.core.intervals import interval
from factdrift.evaluation.scores.bleedover import binned, draw_bleedover, neighbors
from factdrift.evaluation.scores.groups import FEW, GROUPINGS, Group, parted, read_groups
from factdrift.evaluation.scores.metrics import PROBES, SCORES, Runs, write_scores
from factdrift.evaluation.scores.table import ACCURACIES, COLUMNS, EDITS, lines, write_report
from factdrift.evaluation.scores.written import written_table
from factdrift.evaluation.tables import TABLES
from factdrift.verdict.judge import Case, judged

META = dict.fromkeys(("revision", "hyper", "regime", "template", "dtype", "torch"), "r")
META |= {"model": "m", "model_digest": "d", "source": "here"}


class World:
    """Tables as the jobs write them, with given chances before and after."""

    def __init__(self, folder: Path, rows: list[dict[str, Any]], scenarios: list[str]):
        self.folder = folder
        self.edits = pq.read_table(edits(folder, rows, scenarios=scenarios)).to_pylist()
        self.before: dict[tuple[str, str], float] = {}
        self.after: dict[tuple[str, int], float] = {}
        self.failed: dict[str, str] = {}
        self.excluded: list[str] = []
        self.exact: set[tuple[str, str]] = set()
        self.said: dict[str, list[str]] = {}
        self.said_before: dict[str, str | None] = {}
        # What the unedited model gives no finite number, and probes after the edit likewise.
        self.never: set[tuple[str, str]] = set()
        self.lost: set[tuple[str, int]] = set()

    def fill(self, before: float, after: Callable[[dict[str, Any], int], float]) -> None:
        """The same chance before for all probes, and one after by edit and number."""
        for edit in self.edits:
            for number, probe in enumerate(edit["probes"]):
                self.before[probe["prompt"], probe["target"]] = before
                self.after[edit["edit"], number] = after(edit, number)

    def answer(self, method: str, edit: dict[str, Any], number: int) -> dict[str, Any]:
        """What a probe gives; with a reason if it is not aligned, or not finite."""
        probe = edit["probes"][number]
        pair, place = (probe["prompt"], probe["target"]), (edit["edit"], number)
        unedited = method == "none"
        found = self.before.get(pair) if unedited else self.after.get(place)
        if found is None:
            return {"reason": "target_merged"}
        row = {"tokens": [1], "exact": [unedited and pair in self.exact]}
        if (pair in self.never) if unedited else (place in self.lost):
            return row | {"reason": "not_finite"}
        return row | {"logprobs": [math.log(found)]}

    def tables(self, method: str) -> dict[str, list[dict[str, Any]]]:
        """What the job of `none` or `x` writes."""
        named, unedited = {"model": "m", "method": method}, method == "none"
        answers, made = [], []
        for state, edit in enumerate(self.edits):
            name, failed = edit["edit"], None if unedited else self.failed.get(edit["edit"])
            made.append(META | named | {"edit": name, "failed": failed, "state": state})
            rows = [
                {"question": f"{name}#{number}", "way": "loglik"} | self.answer(method, edit, number)
                for number in range(len(edit["probes"]))
            ]
            said = self.said.get(name, [None] * 3)
            if unedited:
                said = [self.said_before.get(name, " nothing"), *[" nothing"] * 2]
            for place, text in enumerate(said, start=1):
                row = {"question": f"{name}#c{place}", "way": "written", "output": text}
                if text is not None and edit["new"]:
                    stale = (edit["obsolete"],) if edit["obsolete"] else ()
                    row["verdict"] = judged(Case(text, (edit["new"],), stale)).verdict
                row["entropy"] = (4.0 if unedited else 5.0) if place > 1 else None
                rows.append(row)
            if failed:
                lost = {"reason": "edit_failed"}
                rows = [{"question": row["question"], "way": row["way"]} | lost for row in rows]
            answers += [named | {"benchmark": "updates", "edit": name, "state": state} | row for row in rows]
        states = [named | {"state": row["state"]} for row in made]
        if unedited:
            made += [META | named | {"edit": one, "excluded": "subject_missing"} for one in self.excluded]
        return {"answers": answers, "edits": made, "states": states}

    def write(self, methods: list[str] | None = None) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Scores and probes of `none` and of one method, `x`."""
        files = {
            name: [
                written(self.folder / f"{method}.{name}.parquet", schema, self.tables(method)[name])
                for method in ("none", "x")
            ]
            for name, schema in TABLES.items()
        }
        self.runs = runs = Runs(
            edits=self.folder / "edits.parquet",
            answers=files["answers"],
            made=files["edits"],
            states=files["states"],
            models=["m"],
            methods=methods or ["none", "x"],
        )
        write_scores(runs, self.folder / "scores.parquet", self.folder / "probes.parquet")
        pq.write_table(written_table(runs.answers, [runs.edits]), self.folder / "written.parquet")
        found = [pq.read_table(self.folder / f"{name}.parquet") for name in ("scores", "probes")]
        assert [table.schema for table in found] == [SCORES, PROBES]
        scores, probes = (table.to_pylist() for table in found)
        return scores, probes


def facts(count: int, dist: float) -> list[dict[str, Any]]:
    objects = [[{"prompt": f"{dist} {n} ____", "object": {"label": "T"}}] for n in range(count)]
    return [{"dist": dist, "popularity": 1.0, "objects": each} for each in objects]


def one_update(**changes: Any) -> dict[str, Any]:
    clozes = ["In other words Atlantis is led by ____", "Atlantis obeys ____"]
    near = {"neighborhood": facts(2, 0.1), "random_neighborhood": facts(1, 0.9)}
    return update("Atlantis", 1, generalization_prompts=clozes, **near) | changes


POPULAR = {"popular_neighborhood": facts(2, 0.5)}


def updates(count: int, **changes: Any) -> list[dict[str, Any]]:
    """Alike updates of several subjects."""
    subjects = [{"id": f"Q{n}", "label": "Atlantis"} for n in range(1, count + 1)]
    return [one_update(**changes, subject=subject) for subject in subjects]


def groups_in(folder: Path, costs: str = "[]") -> list[Group]:
    (folder / "costs.json").write_text(costs, encoding="utf-8")
    return read_groups(*(folder / name for name in ("scores.parquet", "written.parquet", "costs.json")))


def test_neighbours_with_the_new_object_are_left_out_where_the_variant_wants_it(tmp_path: Path) -> None:
    near = facts(2, 0.1)
    near[0]["objects"][0]["object"]["label"] = "Joe Biden"
    world = World(tmp_path, [one_update(neighborhood=near)], ["replacement"])

    def after(edit: dict[str, Any], number: int) -> float:
        probe = edit["probes"][number]
        return 0.2 if (probe["role"], probe["target"]) == ("nearest", "Joe Biden") else 0.7

    world.fill(0.8, after)
    (_, whole), _ = world.write()
    assert (whole["bleedover_nearest"], whole["nearests"]) == (pytest.approx(0.35), 2)
    write_scores(replace(world.runs, without_new=True), tmp_path / "left.parquet", tmp_path / "p.parquet")
    _, left = pq.read_table(tmp_path / "left.parquet").to_pylist()
    assert (left["bleedover_nearest"], left["nearests"]) == (pytest.approx(0.1), 1)
    same = {name: value for name, value in whole.items() if "nearest" not in name}
    assert {name: left[name] for name in same} == same
    assert (tmp_path / "p.parquet").read_bytes() == (tmp_path / "probes.parquet").read_bytes()


def test_metrics_by_hand(tmp_path: Path) -> None:
    world = World(tmp_path, [one_update()], ["replacement"])
    (edit,) = world.edits
    # new, obsolete after the update cloze and two others; two nearest, one random
    before = [0.1, 0.5, 0.2, 0.3, 0.25, 0.5, 0.8, 0.4, 0.6]
    after = [0.9, 0.05, 0.4, 0.3, 0.1, 0.4, 0.5, 0.6, 0.5]
    for number, probe in enumerate(edit["probes"]):
        world.before[probe["prompt"], probe["target"]] = before[number]
        world.after[edit["edit"], number] = after[number]
    world.exact = {(edit["prompt"], "Marta Kowalska")}
    world.said = {edit["edit"]: [" Joe Biden, of", " It is Biden", " Joe Bidens"]}
    world.said_before = {edit["edit"]: None}
    (none, x), probes = world.write()
    assert none["known_before"] is x["known_before"] is True
    assert (none["efficacy_d"], none["efficacy_s"]) == (pytest.approx(0.1 - 0.5), 0)
    assert none["generalization_d"] == pytest.approx((-0.1 - 0.25) / 2)
    assert none["bleedover_nearest"] == none["bleedover_random"] == 0
    assert (none["fluency"], none["fluency_full"]) == (2.0, 4.0)
    chances = ("p_new_before", "p_obsolete_before", "p_new", "p_obsolete")
    assert [x[name] for name in chances] == pytest.approx([0.1, 0.5, 0.9, 0.05])
    assert (x["greedy"], x["generalization_greedy"], x["fluency"]) == (1, 0.5, 2.5)
    assert (x["generalizations"], x["nearests"], x["randoms"]) == (2, 2, 1)
    assert (x["exact"], none["random_exact_before"], x["model_digest"]) == (0, 0, "d")
    assert [row["number"] for row in probes] == [*range(9), *range(9)]
    assert all(row["logprob"] == row["logprob_before"] for row in probes[:9])


def test_output_that_is_not_finite_counts_as_the_worst(tmp_path: Path) -> None:
    world = World(tmp_path, updates(6), ["replacement"])
    world.fill(0.5, lambda edit, number: 0.3 if number % 2 else 0.9)
    names = [edit["edit"] for edit in world.edits]
    # Four of six edits destroy the model; of a fifth one cloze and one neighbour are lost.
    world.lost = {(name, number) for name in names[:4] for number in range(9)}
    world.lost |= {(names[4], 2), (names[4], 6)}
    scores, _ = world.write(["x"])
    assert [row["efficacy_s"] for row in scores] == [0, 0, 0, 0, 1, 1]
    assert [row["efficacy_d"] is None for row in scores] == [True] * 4 + [False] * 2
    assert [row["generalization_s"] for row in scores] == [0, 0, 0, 0, 0.5, 1]
    assert scores[4]["generalization_d"] == pytest.approx(0.6)
    assert [row["bleedover_random"] for row in scores] == pytest.approx([0.5] * 4 + [0] * 2)
    assert [row["bleedover_nearest"] for row in scores[4:]] == pytest.approx([0.35, 0.1])
    for row in scores:
        assert row["exact"] == row["nearest_exact"] == 0
        assert row["generalizations"] == row["nearests"] == 2
    assert [row["not_finite"] for row in scores] == [9, 9, 9, 9, 2, 0]
    (group,) = groups_in(tmp_path)
    assert group.not_finite == 5
    assert group.value("efficacy_s").mean == pytest.approx(100 / 3)  # type: ignore[union-attr]
    text = list(lines(EDITS[0], [group]))
    assert [line.split()[-2:] for line in text if line.startswith("x ")][1] == ["0", "5"]
    assert "x: 2 edits in Efficacy D, General. D" in text
    write_report(EDITS[0], [group], tmp_path)
    (found,) = csv.DictReader((tmp_path / "table6.csv").open(encoding="utf-8"))
    assert [found[name] for name in ("efficacy_s_n", "efficacy_d_n", "failed", "not_finite")] == list("6205")


def test_an_unedited_model_whose_output_is_not_finite_is_no_better(tmp_path: Path) -> None:
    world = World(tmp_path, [one_update()], ["replacement"])
    world.fill(0.5, lambda edit, number: 0.4)
    world.never = {(probe["prompt"], probe["target"]) for probe in world.edits[0]["probes"][:7]}
    (none, x), probes = world.write()
    assert {row["reason"] for row in probes[:7]} == {"not_finite"}
    assert (none["efficacy_s"], none["efficacy_d"], none["not_finite"]) == (0, None, 7)
    # What a neighbour had is not known, so it is no loss of 0.
    assert (x["bleedover_nearest"], x["nearests"], x["not_finite"]) == (pytest.approx(0.1), 1, 0)


def test_one_sided_scenarios(tmp_path: Path) -> None:
    gone = one_update(scenario="Archive", objects=[{"label": "Joe", "decision": "obsolete"}])
    come = one_update(scenario="AddEntity", objects=[{"label": "Joe", "decision": "new"}])
    come["subject"] = {"id": "Q2", "label": "Atlantis"}
    world = World(tmp_path, [gone, come], ["archive", "add_entity"])
    world.fill(0.5, lambda edit, number: 0.2 if edit["kind"] == "archive" else 0.8)
    scores, _ = world.write(["x"])
    for row in scores:
        assert row["efficacy_d"] == row["generalization_d"] == pytest.approx(0.3)
        assert row["efficacy_s"] == row["generalization_s"] == 1
    assert [row["known_before"] for row in scores] == [False, None]  # of `add` nothing is obsolete
    assert [row["p_new"] is None for row in scores] == [True, False]
    unedited = [row for row in world.write()[0] if row["method"] == "none"]
    groups = [(group.part, group.method) for group in groups_in(tmp_path)]
    assert groups == [("archive", "none"), ("archive", "x"), ("add", "none"), ("add", "x")]
    assert [row["kind"] for row in unedited] == ["archive", "add"]
    for row in unedited:
        # What is as probable as before was not learnt.
        assert row["efficacy_d"] == row["efficacy_s"] == row["generalization_s"] == 0


def test_failed_and_excluded_edits_are_never_scored(tmp_path: Path) -> None:
    world = World(tmp_path, updates(3), ["replacement"])
    world.fill(0.5, lambda edit, number: 0.9)
    world.failed, world.excluded = {"Q2-P6": "diverged"}, ["Q3-P6"]
    world.edits = world.edits[:2]  # a job leaves out what is not aligned
    scores, probes = world.write()
    assert [(row["method"], row["edit"], row["failed"]) for row in scores] == [
        ("none", "Q1-P6", None),
        ("none", "Q2-P6", None),
        ("x", "Q1-P6", None),
        ("x", "Q2-P6", "diverged"),
    ]
    assert all(scores[3][name] is None for name in ("efficacy_d", "efficacy_s", "bleedover_random", "p_new"))
    assert not [row for row in probes if (row["method"], row["edit"]) == ("x", "Q2-P6")]
    groups = groups_in(tmp_path, '[{"model": "m", "method": "x", "edits": 2, "edit_seconds": 3.0}]')
    assert [(group.method, group.failed) for group in groups] == [("none", 0), ("x", 1)]
    assert any(line.startswith("x ") and line.endswith(" 1.5") for line in lines(EDITS[0], groups))
    efficacy = groups[1].value("efficacy_s")
    assert efficacy is not None
    assert (efficacy.mean, efficacy.n) == (0, 1)


@settings(max_examples=examples(15), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_metrics_against_a_plain_oracle(tmp_path: Path, data: st.DataObject) -> None:
    world = World(tmp_path, [one_update(**POPULAR)], ["replacement"])
    (edit,) = world.edits
    chance = st.sampled_from([1e-6, 0.1, 0.25, 0.5, 1.0])  # few, so that objects are equally likely
    before, after = {}, {}
    for number, probe in enumerate(edit["probes"]):
        pair = probe["prompt"], probe["target"]
        if data.draw(st.booleans()) or number < 2:  # what is not aligned has no chance
            before[number] = world.before[pair] = data.draw(chance)
            after[number] = world.after[edit["edit"], number] = data.draw(chance)
    (row,), _ = world.write(["x"])
    gaps = [after[n] - after[n + 1] for n in (0, 2, 4) if n in after and n + 1 in after]
    own, others = gaps[0], gaps[1:]
    assert row["efficacy_d"] == pytest.approx(own)
    assert row["efficacy_s"] == (own > 0)
    assert row["generalizations"] == len(others)
    if others:
        assert row["generalization_d"] == pytest.approx(fmean(others))
        assert row["generalization_s"] == pytest.approx(fmean(gap > 0 for gap in others))
    else:
        assert row["generalization_d"] is row["generalization_s"] is None
    for name, numbers in (("nearest", (6, 7)), ("random", (8,)), ("popular", (9, 10))):
        lost = [-min(after[n] - before[n], 0) for n in numbers if n in after]
        assert row[f"bleedover_{name}"] == (pytest.approx(fmean(lost)) if lost else None)
        assert row[f"{name}s"] == len(lost)


def test_intervals() -> None:
    values = [1.0, 2.0, 4.0]
    found = interval(values)
    assert found is not None
    assert found == pytest.approx((fmean(values), 1.96 * stdev(values) / math.sqrt(3), 3))
    assert interval([]) is None
    assert str(interval([7.0])) == "7.0"
    # Edits in one model are a cluster: two models whose means are 0 and 1 are two values, by Student's t.
    together = interval([0.0, 0.0, 0.0, 1.0, 1.0, 1.0], [1, 1, 1, 2, 2, 2])
    assert together == pytest.approx((0.5, 12.7062047 * 0.5, 6))
    assert interval(values, [1, 2, 3]) == interval(values, [1, 1, 1]) == found
    # Wilson's interval of 0 of 10 reaches to .2775, that of 10 of 10 down to .7225.
    assert interval([0.0] * 10, top=1) == pytest.approx((0, 0.27753, 10), abs=1e-4)
    assert interval([100.0] * 10, top=100) == pytest.approx((100, 27.753, 10), abs=1e-2)
    assert interval([0.0] * 10, [1] * 5 + [2] * 5, top=1) == pytest.approx((0, 0.65765, 10), abs=1e-4)
    assert interval([0.0] * 10) == (0, 0, 10)
    assert str(found) == "2.3 ±1.7"


def test_the_table_has_the_columns_of_the_paper(tmp_path: Path) -> None:
    row = {"failed": None, "template": "none", "known_before": True, "state": 0}
    row |= dict.fromkeys((*COLUMNS, *ACCURACIES), 0.25)
    row |= {"efficacy_d": 0.5, "efficacy_s": 1.0, "fluency": 5.2}
    cost = {"edits": 4, "edit_seconds": 1.0, "peak_mb": 100.0}
    groups = [Group("m", "replace", "ft_l", [row, row | {"efficacy_d": 0.3, "state": 1}], cost)]
    text = "\n".join(lines(EDITS[0], groups))
    assert "m, 2 replacements" in text
    first = next(line.split() for line in text.splitlines() if line.startswith("FT+L"))
    assert first[:8] == ["FT+L", "2", "40.0", "±19.6", "100.0", "±65.8", "25.0", "±0.0"]
    assert first[-3:] == ["5.2", "±0.0", "0.25"]
    write_report(EDITS[0], groups, tmp_path, below=["m knows it all"])
    header, values = (line.split(",") for line in (tmp_path / "table6.csv").read_text().splitlines())
    found = dict(zip(header, values, strict=True))
    assert float(found["efficacy_d"]) == pytest.approx(40)
    assert float(found["efficacy_d_ci95"]) == pytest.approx(19.6)
    assert found["seconds_per_edit"] == "0.25"
    assert (tmp_path / "table6.txt").read_text() == text + "\nm knows it all\n"
    # Edits that are in one model together.
    both = [Group("m", "replace", "ft", [row, row], cost)]
    assert "FT: all edits are in one model, and intervals are over its edits only" in lines(EDITS[0], both)
    both[0].rows.append(row | {"state": 1})
    assert "FT: intervals are by edited model, of which there are 2" in lines(EDITS[0], both)
    # Below the table: over which texts second moments were counted, by method.
    assert "second moments" not in text
    more = [Group("m", "replace", name, [row], cost | {"moments": "my.txt"}) for name in ("rome", "memit")]
    assert list(lines(EDITS[0], [*groups, *more]))[-1] == "ROME, MEMIT: second moments over my.txt"


@pytest.mark.parametrize(
    ("written_before", "exact", "known"),
    [
        (" Marta Kowalska.", False, True),
        (" Marta Kowalska or Joe Biden", False, True),
        (" Joe Biden", True, False),
        (" nothing", True, False),
        (None, True, True),
        (None, False, False),
    ],
)
def test_what_was_known_is_what_was_written_or_else_likely(
    tmp_path: Path, written_before: str | None, exact: bool, known: bool
) -> None:
    world = World(tmp_path, updates(2), ["replacement"])
    world.fill(0.5, lambda edit, number: 0.9)
    first, second = (edit["edit"] for edit in world.edits)
    world.said_before = {first: written_before, second: " nothing"}
    world.said = {first: [" Marta Kowalska"] * 3}
    world.exact = {(edit["prompt"], "Marta Kowalska") for edit in world.edits if exact}
    scores, _ = world.write()
    assert [row["known_before"] for row in scores] == [known, False] * 2


RELATIONS = [("P6", "head"), ("P35", "state"), ("P17", "land"), (None, None)]
DATATYPES = ["wikibase-item", "wikibase-property", "quantity", "time", None]


def parts_by_hand(rows: list[dict[str, Any]]) -> dict[str, dict[str, set[str]]]:
    """Grouping -> part -> edits, by plain loops."""
    parts: dict[str, dict[str, set[str]]] = {name: {} for name in GROUPINGS}
    rated = sorted(
        (row for row in rows if row["subject_popularity"] is not None), key=lambda r: r["subject_popularity"]
    )
    sizes = [(len(rated) + 2) // 3, (len(rated) + 1) // 3]
    for place, row in enumerate(rated):
        third = "low" if place < sizes[0] else "middle" if place < sum(sizes) else "high"
        parts["popularity"].setdefault(third, set()).add(row["edit"])
    for row in rows:
        if row["known_before"] is not None:
            name = "known" if row["known_before"] else "not known"
            parts["known"].setdefault(name, set()).add(row["edit"])
        if row["relation"]:
            parts["relation"].setdefault(f"{row['relation_label']} {row['relation']}", set()).add(row["edit"])
        if row["datatype"]:
            kind = "entity" if row["datatype"] in DATATYPES[:2] else "literal"
            parts["object"].setdefault(kind, set()).add(row["edit"])
    return parts


@settings(max_examples=examples(40))
@given(st.randoms(use_true_random=False), st.integers(1, 40))
def test_parts_of_edits_against_plain_loops(dice: Any, count: int) -> None:
    rows = []
    for number in range(count):
        relation, label = dice.choice(RELATIONS)
        rows.append(
            {"edit": f"e{number}", "failed": dice.choice([None, None, "diverged"]), "state": number}
            | {"relation": relation, "relation_label": label, "datatype": dice.choice(DATATYPES)}
            | {"known_before": dice.choice([True, False, None])}
            | {"subject_popularity": dice.choice([None, 0.0, 1.0, 2.5, 4.0]), "efficacy_s": dice.random()}
        )
    texts = [{"edit": row["edit"]} for row in rows]
    block = [Group("m", "replace", name, rows, {}, written=texts) for name in ("none", "x")]
    for name, wanted in parts_by_hand(rows).items():
        parts, left = parted(block, name)
        large = {part: own for part, own in wanted.items() if len(own) >= FEW}
        assert {groups[0].within: {row["edit"] for row in groups[0].rows} for groups in parts} == {
            (name, part): own for part, own in large.items()
        }
        for groups in parts:
            assert [group.method for group in groups] == ["none", "x"]
            assert all(
                [row["edit"] for row in of.written] == [row["edit"] for row in of.rows] for of in groups
            )
        few = sum(map(len, wanted.values())) - sum(map(len, large.values()))
        without = count - sum(map(len, wanted.values()))
        assert [line.split()[2] for line in left] == [str(number) for number in (few, without) if number]
        order = [groups[0].within[1] for groups in parts]
        if name in ("known", "popularity"):
            assert order == [
                part for part in ("known", "not known", "low", "middle", "high") if part in large
            ]
        else:
            assert order == sorted(large, key=lambda part: (-len(large[part]), part))


def test_groups_have_what_was_written_about_their_edits(tmp_path: Path) -> None:
    world = World(tmp_path, updates(2), ["replacement"])
    world.said = {edit["edit"]: [" Joe Biden"] * 3 for edit in world.edits}
    world.write()
    for group in groups_in(tmp_path):
        assert group.within == ("", "")
        assert {row["edit"] for row in group.written} == {row["edit"] for row in group.rows}
        assert group.answers


def test_the_table_of_parts(tmp_path: Path) -> None:
    """A table a part, with n; columns only where something has a value; the same in the file for programs."""
    row = {"failed": None, "template": "none", "state": 0, "relation": "P6", "relation_label": "head"}
    row |= dict.fromkeys((*COLUMNS, *ACCURACIES), 0.25) | {"bleedover_popular": None}
    rows = [
        row
        | {"edit": f"e{n}", "known_before": n < 6, "subject_popularity": n, "state": n}
        | {"datatype": "quantity" if n < 3 else "wikibase-item", "efficacy_s": float(n < 6)}
        for n in range(12)
    ]
    groups = [Group("m", "replace", name, rows, {}) for name in ("none", "ft")]
    text = list(lines(EDITS[1], groups))
    for part, efficacy in (("not known", "0.0"), ("known", "100.0"), ("head P6", "50.0"), ("entity", "33.3")):
        at = next(number for number, line in enumerate(text) if line.startswith(f"{part} "))
        titles = [
            title
            for title in ("Right", "Efficacy S", "Bleed. nearest", "Bleed. popular")
            if title in text[at]
        ]
        assert titles == ["Efficacy S", "Bleed. nearest"]
        assert text[at + 2].split()[0] == "FT"
        assert efficacy in text[at + 2]
    assert "left out: 12 edits in parts of fewer than 5 (3 parts)" in text
    assert "left out: 3 edits in parts of fewer than 5 (1 parts)" in text
    write_report(EDITS[1], groups, tmp_path)
    found = list(csv.DictReader((tmp_path / "table7.csv").open(encoding="utf-8")))
    assert [(row["grouping"], row["part"], row["method"], row["edits"]) for row in found[::2]] == [
        ("known", "known", "none", "6"),
        ("known", "not known", "none", "6"),
        ("relation", "head P6", "none", "12"),
        ("object", "entity", "none", "9"),
    ]
    assert [row["efficacy_s"] for row in found[1::2]] == ["100", "0", "50", "33.3333"]
    with_popular = [
        replace(group, rows=[row | {"bleedover_popular": 0.5} for row in rows]) for group in groups
    ]
    for report in EDITS:
        assert any("Bleed. popular" in line for line in lines(report, with_popular))
        assert not any("Bleed. popular" in line for line in lines(report, groups))


def test_classes_of_neighbours_by_hand() -> None:
    x = np.array([1.0, 2.0, 3.0, 4.0])
    middle, mean, half = binned(x, np.array([0.0, 1.0, 4.0, 4.0]), bins=2)
    assert middle.tolist() == [1.5, 3.5]
    assert mean.tolist() == [0.5, 4.0]
    assert half == pytest.approx([1.96 * np.sqrt(0.5) / np.sqrt(2), 0.0])
    # Equal values share a class, however many classes there may be.
    for bins, wanted in ((1, [[1.75], [2.75]]), (3, [[1.75], [2.75]]), (9, [[1, 2], [5, 2]])):
        middle, mean, half = binned(np.array([2.0, 1.0, 2.0, 2.0]), np.array([1.0, 5.0, 2.0, 3.0]), bins)
        assert [middle.tolist(), mean.tolist()] == wanted
    assert half == pytest.approx([0, 1.96 / np.sqrt(3)])


def test_neighbours_in_the_figure(tmp_path: Path) -> None:
    """One whose output is not finite has lost everything; with the new object it is left out if wanted."""
    rows = [
        {"model": "m", "method": "ft", "edit": edit, "role": role, "object": name, "target": target}
        | {"logprob_before": np.log(0.5), "logprob": None if reason else np.log(0.4), "reason": reason}
        for edit, new, lost in (("a", "Paris", "not_finite"), ("b", "Rome", "unaligned"))
        for role, name, target, reason in (
            ("update", "obsolete", "Oslo", None),
            ("update", "new", new, None),
            ("nearest", "neighbor", "Oslo", lost),
            ("nearest", "neighbor", "Paris", None),
            ("random", "neighbor", "Rome", None),
        )
    ]
    pq.write_table(pa.Table.from_pylist(rows, schema=PROBES), tmp_path / "probes.parquet")
    whole, left = (neighbors(tmp_path / "probes.parquet", without_new) for without_new in (False, True))
    assert (whole["edit"] + whole["target"]).tolist() == ["aOslo", "aParis", "aRome", "bParis", "bRome"]
    assert whole["bleedover"].tolist() == pytest.approx([0.5, 0.1, 0.1, 0.1, 0.1])
    assert (left["edit"] + left["target"]).tolist() == ["aOslo", "aRome", "bParis"]


def test_a_panel_without_values_says_so(tmp_path: Path) -> None:
    probes, figure = tmp_path / "probes.parquet", tmp_path / "figure.svg"
    for missing in (("dist",), ("dist", "popularity")):
        rows = [
            {"model": "m", "method": "ft", "edit": "e", "number": place, "role": "nearest"}
            | {"logprob_before": -0.1, "logprob": -0.1 - place}
            | {name: None if name in missing else place / 10 for name in ("dist", "popularity")}
            for place in range(9)
        ]
        pq.write_table(pa.Table.from_pylist(rows, schema=PROBES), probes)
        draw_bleedover(probes, [figure])
        drawn = figure.read_text()
        assert ("no popularity in the data" in drawn) == ("popularity" in missing)
        assert "no similarity in the data" in drawn
        assert (">FT<" in drawn or "<!-- FT -->" in drawn) == (len(missing) < 2)
