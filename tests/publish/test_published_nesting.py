"""The first columns of WikiFactDiff against the published dataset, and against the code that reads it.

FACTDRIFT_WIKIFACTDIFF may name a checkout of the authors' code (Orange-OpenSource/WikiFactDiff).
"""

import ast
import json
import os
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas
import pyarrow.parquet as pq
import pytest

from factdrift.evaluation.layouts.rows import SCHEMA
from factdrift.wikifactdiff.export import export

from .conftest import Bench, Row, object_, update

ENTITY = {"id": str, "label": str, "description": str}
OF_FACT = {"object": ENTITY, "prompt": str, "dist": float}
PUBLISHED = {
    "subject": ENTITY,
    "relation": ENTITY,
    "update_prompt": str,
    "generalization_prompts": [str],
    "subject_is_ph_new": bool,
    "relation_is_temp_func": bool,
    "is_replace": bool,
    "subject_popularity": float,
    "objects": [ENTITY | {"decision": str}],
    "neighborhood": [{"subject": ENTITY, "dist": float, "objects": [OF_FACT]}],
}
"""Field -> type: what the authors' builder writes (verbalize_wikifactdiff.py), with `dist` in both places in
which it leaves it (clean_wikifactdiff.py) and their analysis reads it (result_analysis.ipynb)."""

ROWS = [update(1), update(2, "test", objects=[object_("5", "new", None), object_("4", "obsolete", None)])]

Adapt = Callable[[Row], Row]


def released() -> Adapt | None:
    """`adapt_instance` of the checkout, compiled alone, because its module imports more than is here."""
    if not (root := os.environ.get("FACTDRIFT_WIKIFACTDIFF")):
        return None
    path = Path(root, "evaluate", "dsets", "wikifactdiff.py")
    tree = ast.parse(path.read_text("utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    (function,) = (each for each in functions if each.name == "adapt_instance")
    function.decorator_list = []
    space: dict[str, Any] = {}
    exec(textwrap.dedent(ast.unparse(function)), space)
    found: Adapt = space["adapt_instance"]
    return found


def check_adapted(rows: list[Row], adapt: Adapt) -> None:
    for place, row in enumerate(rows):
        found = adapt(row | {"case_id": place})
        rewrite = found["requested_rewrite"]
        labels = {value["decision"]: value["label"] for value in row["objects"]}
        assert rewrite["target_new"]["str"] == labels["new"]
        assert rewrite["target_true"]["str"] == labels["obsolete"]
        assert "____" not in json.dumps(found)
        near = [fact["objects"][0] for fact in row["neighborhood"]]
        wanted = [(fact["prompt"].replace(" ____", ""), fact["object"]["label"]) for fact in near]
        assert [(each["prompt"], each["expected_object"]) for each in found["neighborhood_prompts"]] == wanted


def differences(value: Any, wanted: Any, path: str = "") -> list[str]:
    """The fields of a JSON value that are missing, too many or of another type; null fits texts."""
    if isinstance(wanted, dict):
        found = [f"{path}.{key}" for key in value.keys() ^ wanted.keys()]
        for key in wanted.keys() & value.keys():
            found += differences(value[key], wanted[key], f"{path}.{key}")
        return found
    if isinstance(wanted, list):
        return [line for each in value for line in differences(each, wanted[0], f"{path}[]")]
    fits = isinstance(value, wanted) or (value is None and wanted is str)
    return [] if fits else [f"{path}: {value!r}"]


def test_the_export_has_the_published_fields_and_no_other(bench: Bench, tmp_path: Path) -> None:
    assert SCHEMA.names[: len(PUBLISHED)] == list(PUBLISHED)
    export(bench.put("wikifactdiff.parquet", ROWS), tmp_path / "wikifactdiff.jsonl")
    lines = (tmp_path / "wikifactdiff.jsonl").read_text("utf-8").splitlines()
    assert len(lines) == 2
    for line in lines:
        assert differences(json.loads(line), PUBLISHED) == []


def test_released_code_reads_the_folder(published: Path) -> None:
    if (adapt := released()) is None:
        pytest.skip("FACTDRIFT_WIKIFACTDIFF names no checkout of the authors' code")
    check_adapted(pq.read_table(published / "wfd_repl" / "data").to_pylist(), adapt)
    # As the authors read Parquet: lists are arrays then.
    frame = pandas.read_parquet(published / "wfd_repl" / "data")
    check_adapted([dict(row) for _, row in frame.iterrows()], adapt)
