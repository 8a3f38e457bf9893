"""The metrics of the gathered tables, against numbers by hand and a plain oracle."""

import csv
import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from random import Random
from statistics import fmean, stdev
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples
from support.tables import written
from support.updates import edits, update

from factdrift.core.intervals import interval
from factdrift.evaluation.questions.clozes import NEIGHBORS
from factdrift.evaluation.scores.bleedover import binned, draw_bleedover, neighbors
from factdrift.evaluation.scores.groups import FEW, GROUPINGS, Group, parted, read_groups
from factdrift.evaluation.scores.metrics import PROBES, SCORES, Runs, write_scores
from factdrift.evaluation.scores.table import ACCURACIES, COLUMNS, EDITS, lines, write_report
from factdrift.evaluation.scores.written import written_table
from factdrift.evaluation.tables import TABLES
from factdrift.verdict.judge import Case, judged

Row = dict[str, Any]
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
        self.exact_after: set[tuple[str, int]] = set()
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
        row = {"tokens": [1], "exact": [pair in self.exact if unedited else place in self.exact_after]}
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


REPLACED: dict[str, Any] = {}
"""What `one_update` is without changes: a replacement."""
ARCHIVED = {"scenario": "Archive", "objects": [{"label": "Joe", "decision": "obsolete"}]}
ADDED = {"scenario": "AddEntity", "objects": [{"label": "Joe", "decision": "new"}]}


def drawn(folder: Path, dice: Random) -> World:
    """Edits of all kinds with few chances, so that some are equal; some are lost, failed or excluded."""
    rows = []
    for number, kind in enumerate([REPLACED, ARCHIVED, ADDED, *dice.choices([REPLACED, ADDED], k=4)], 1):
        near = facts(2, 0.1)
        near[0]["objects"][0]["object"]["label"] = dice.choice(["T", "Joe Biden", "Joe"])
        row = one_update(**kind, **(POPULAR if dice.random() < 0.5 else {}), neighborhood=near)
        rows.append(row | {"subject": {"id": f"Q{number}", "label": "Atlantis"}})
    world = World(folder, rows, ["replacement", "archive", "add_entity"])
    last = world.edits.pop()  # a job leaves out what is not aligned
    world.excluded = [last["edit"]]
    for edit in world.edits:
        name = edit["edit"]
        if dice.random() < 0.2:
            world.failed[name] = "diverged"
        texts = [" Joe Biden, of", " Marta Kowalska.", " Marta Kowalska or Joe Biden", " nothing", None]
        world.said[name], world.said_before[name] = dice.choices(texts, k=3), dice.choice(texts)
        for number, probe in enumerate(edit["probes"]):
            pair, place = (probe["prompt"], probe["target"]), (name, number)
            if pair in world.before or dice.random() < 0.9:  # what is not aligned has no chance
                world.before.setdefault(pair, dice.choice([1e-6, 0.1, 0.5, 1.0]))
                world.after[place] = dice.choice([1e-6, 0.1, 0.5, 1.0])
            for chosen, key in ((world.exact, pair), (world.exact_after, place)):
                chosen |= {key} if dice.random() < 0.4 else set()
            for chosen, key in ((world.never, pair), (world.lost, place)):
                chosen |= {key} if dice.random() < 0.1 else set()
    # A pair of two edits is aligned in both.
    for edit in world.edits:
        for number, probe in enumerate(edit["probes"]):
            if (probe["prompt"], probe["target"]) in world.before:
                world.after.setdefault((edit["edit"], number), 0.25)
    return world


def mean_of(values: Iterable[Any]) -> float | None:
    """The mean of the values that are not None."""
    known = [float(value) for value in values if value is not None]
    return fmean(known) if known else None


def by_hand(world: World, method: str, edit: Row, without_new: bool) -> tuple[Row, list[Row]]:
    """The metrics of an edit and its probes, by plain loops."""
    name, unedited = edit["edit"], method == "none"
    failed = None if unedited else world.failed.get(name)
    probes = []
    for number, probe in enumerate(edit["probes"] if not failed else ()):
        pair, place = (probe["prompt"], probe["target"]), (name, number)
        aligned = pair in world.before
        lost = aligned and (pair in world.never if unedited else place in world.lost)
        before = None if pair in world.never else world.before.get(pair)
        after = None if lost else before if unedited else world.after.get(place)
        row = {"role": probe["role"], "cloze": probe["place"], "object": probe["object"], "lost": lost}
        row |= {"before": before, "after": after, "target": probe["target"], "aligned": aligned}
        row |= {"exact_before": pair in world.exact}
        row |= {"exact": pair in world.exact if unedited else place in world.exact_after}
        probes.append(row)
    wordings: list[Row] = []
    for own, cloze in dict.fromkeys(
        (p["role"] == "update", p["cloze"]) for p in probes if p["role"] not in NEIGHBORS
    ):
        group = {
            p["object"]: p
            for p in probes
            if p["role"] not in NEIGHBORS and (p["role"] == "update", p["cloze"]) == (own, cloze)
        }
        of = lambda what, when, group=group: group.get(what, {}).get(when)  # noqa: E731
        better, worse = {
            "replace": (of("new", "after"), of("obsolete", "after")),
            "add": (of("new", "after"), of("new", "before")),
            "archive": (of("obsolete", "before"), of("obsolete", "after")),
        }[edit["kind"]]
        known = better is not None and worse is not None
        wording = {"own": own, "d": better - worse if known else None, "s": better > worse if known else None}
        if any(p["lost"] for p in group.values()):
            wording["s"] = False
        wording["exact"] = of("new", "exact") if of("new", "aligned") else None
        for what in ("new", "obsolete"):
            wording |= {f"p_{what}": of(what, "after"), f"p_{what}_before": of(what, "before")}
        wordings.append(wording)
    (own,) = [wording for wording in wordings if wording["own"]] or [{}]
    others = [wording for wording in wordings if not wording["own"]]
    row = {
        "failed": failed,
        "efficacy_d": own.get("d"),
        "efficacy_s": mean_of([own.get("s")]),
        "exact": mean_of([own.get("exact")]),
    }
    row |= {key: own.get(key) for key in ("p_new", "p_obsolete", "p_new_before", "p_obsolete_before")}
    row |= {f"generalization_{key}": mean_of(w[key] for w in others) for key in ("d", "s", "exact")}
    row["generalizations"] = None if failed else sum(w["s"] is not None for w in others)
    row |= {"not_finite": None if failed else sum(p["lost"] for p in probes)}
    for role in NEIGHBORS:
        near = [p for p in probes if p["role"] == role and p["aligned"]]
        near = [p for p in near if not without_new or p["target"] != edit["new"]]
        losses = [
            max(p["before"] - (0 if p["lost"] else p["after"]), 0)
            for p in near
            if p["before"] is not None and (p["lost"] or p["after"] is not None)
        ]
        row |= {f"bleedover_{role}": mean_of(losses), f"{role}s": len(losses)}
        row |= {f"{role}_{key}": mean_of(p[key] for p in near) for key in ("exact_before", "exact")}
    return row | said_by_hand(world, edit, unedited, failed), probes


def said_by_hand(world: World, edit: Row, unedited: bool, failed: str | None) -> Row:
    """What the texts say: whether the old object was known, and whether the new one was written."""
    name, objects = edit["edit"], ((edit["new"],), (edit["obsolete"],) if edit["obsolete"] else ())

    def verdict(text: str | None) -> str | None:
        return judged(Case(text, *objects)).verdict if text is not None and edit["new"] else None

    texts = [world.said_before[name], " nothing", " nothing"] if unedited else world.said[name]
    texts = [None] * 3 if failed else texts
    right = [None if verdict(text) is None else verdict(text) == "correct" for text in texts]
    row: Row = {"said": texts[0], "greedy": mean_of(right[:1]), "generalization_greedy": mean_of(right[1:])}
    row["fluency"] = None if failed else 2.0 if unedited else 2.5
    row["known_before"] = None
    old = [
        (p["prompt"], p["target"])
        for p in edit["probes"]
        if (p["role"], p["object"]) == ("update", "obsolete")
    ]
    before = verdict(world.said_before[name])
    if old and before is not None:
        row["known_before"] = before in ("stale", "both")
    elif old and old[0] in world.before:
        row["known_before"] = old[0] in world.exact
    return row


@pytest.mark.parametrize("seed", range(examples(8)))
def test_metrics_against_plain_loops(seed, tmp_path):
    world = drawn(tmp_path, Random(seed))
    for without_new in (False, True):
        scores, probes = world.write()
        if without_new:
            write_scores(
                replace(world.runs, without_new=True), tmp_path / "left.parquet", tmp_path / "p.parquet"
            )
            scores = pq.read_table(tmp_path / "left.parquet").to_pylist()
            assert (tmp_path / "p.parquet").read_bytes() == (tmp_path / "probes.parquet").read_bytes()
        due = [(method, edit) for method in ("none", "x") for edit in world.edits]
        assert [(row["method"], row["edit"]) for row in scores] == [
            (method, edit["edit"]) for method, edit in due
        ]
        made = []
        for row, (method, edit) in zip(scores, due, strict=True):
            wanted, own = by_hand(world, method, edit, without_new)
            assert {key: row[key] for key in wanted} == pytest.approx(wanted), (method, edit["edit"])
            made += [(method, edit["edit"], number, p["before"], p["after"]) for number, p in enumerate(own)]
        chances = (
            None if row[name] is None else math.exp(row[name])
            for row in probes
            for name in ("logprob_before", "logprob")
        )
        found = [(row["method"], row["edit"], row["number"], next(chances), next(chances)) for row in probes]
        assert found == [pytest.approx(row) for row in made]


def test_output_that_is_not_finite_counts_as_the_worst(tmp_path):
    world = World(tmp_path, updates(6), ["replacement"])
    world.fill(0.5, lambda edit, number: 0.3 if number % 2 else 0.9)
    names = [edit["edit"] for edit in world.edits]
    world.said = {name: [" Joe Biden"] * 3 for name in names}
    # Four of six edits destroy the model; of a fifth one cloze and one neighbour are lost.
    world.lost = {(name, number) for name in names[:4] for number in range(9)}
    world.lost |= {(names[4], 2), (names[4], 6)}
    scores, _ = world.write(["x"])
    assert [row["not_finite"] for row in scores] == [9, 9, 9, 9, 2, 0]
    (group,) = groups_in(tmp_path)
    assert (group.not_finite, group.within) == (5, ("", ""))
    assert {row["edit"] for row in group.written} == {row["edit"] for row in group.rows} == {*names}
    assert group.answers
    assert group.value("efficacy_s").mean == pytest.approx(100 / 3)
    text = list(lines(EDITS[0], [group]))
    assert ["0", "5"] in [line.split()[-2:] for line in text if line.startswith("x ")]
    assert "x: 2 edits in Efficacy D, General. D" in text
    write_report(EDITS[0], [group], tmp_path)
    (found,) = csv.DictReader((tmp_path / "table6.csv").open(encoding="utf-8"))
    assert [found[name] for name in ("efficacy_s_n", "efficacy_d_n", "failed", "not_finite")] == list("6205")


def test_intervals():
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


def test_the_table_has_the_columns_of_the_paper(tmp_path):
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
def test_parts_of_edits_against_plain_loops(dice, count):
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


def test_the_table_of_parts(tmp_path):
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


def test_classes_of_neighbours_by_hand():
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


def test_neighbours_in_the_figure(tmp_path):
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


def test_a_panel_without_values_says_so(tmp_path):
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
