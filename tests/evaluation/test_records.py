"""Files of factdrift's own methods, locators and benchmarks that are not as they must be."""

import shutil
from typing import Any

import pytest
import yaml

from factdrift.core.errors import InputError
from factdrift.core.functions import named_function
from factdrift.core.paths import CONFIG
from factdrift.evaluation.locators import plan
from factdrift.evaluation.methods import own, record
from factdrift.evaluation.questions import question

READ: dict[str, Any] = {"methods": record, "locators": plan, "benchmarks": question}
FAULTS: dict[str, tuple[str, dict[str, Any], str]] = {
    "block": ("methods/ft", {"record": {"block": "layer"}}, r"ft\.yaml: record\.block: layer is not among"),
    "key": ("methods/ft", {"record": {"bloc": "layers"}}, r"ft\.yaml: record: Object contains unknown field"),
    "like": ("methods/replay", {"like": "nothing"}, r"replay\.yaml: like: there is no nothing\.yaml"),
    "rule": ("methods/ft", {"derived": {"rules": {"layer": {"share": 0.5}}}}, r"rules: layer is not among"),
    "part": ("methods/ft", {"defaults": {}}, r"ft\.yaml: Additional properties .*'defaults' was unexpected"),
    "entry": ("methods/ft", {"models": [{"names": ["x"], "lr": -1}]}, r"ft\.yaml: models\.0\.lr: -1 is less"),
    "locator": ("locators/rome_layer", {"record": {"title": "x"}}, r"rome_layer\.yaml: record: Object m"),
    "benchmark": ("benchmarks/asof", {"optoins": True}, r"asof\.yaml: Object contains unknown field"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_file_that_is_wrong_is_named_with_its_key(fault, tmp_path, monkeypatch):
    name, changes, said = FAULTS[fault]
    kind = name.split("/")[0]
    shutil.copytree(CONFIG / kind, tmp_path / kind)
    for module in (own, record):
        monkeypatch.setattr(module, "METHODS", tmp_path / "methods")
    for module in (own, plan):
        monkeypatch.setattr(module, "LOCATORS", tmp_path / "locators")
    monkeypatch.setattr(question, "CONFIG", tmp_path)
    path = tmp_path / f"{name}.yaml"
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    if fault in ("block", "key"):
        changes = {"record": content["record"] | changes["record"]}
    if fault == "like":
        content.pop("record")
        changes |= {"record": {}}
    path.write_text(yaml.safe_dump(content | changes), encoding="utf-8")
    READ[kind].records.cache_clear()

    def read() -> None:
        READ[kind].records()
        own.entry(path.stem, tmp_path / kind)

    with pytest.raises(InputError, match=said):
        read()
    monkeypatch.undo()
    READ[kind].records.cache_clear()
    assert READ[kind].records()


def test_a_function_that_is_not_there_is_named():
    package = "factdrift.evaluation.locators"
    with pytest.raises(InputError, match=r"record: .*plan has no function nothing; it has .*locator_of"):
        named_function(package, "plan.nothing")
    with pytest.raises(InputError, match=r"record: nothing\.run: there is no module .*locators\.nothing"):
        named_function(package, "nothing.run")
