"""What the workflow makes before the first edit of a method, and that methods are named in records only."""

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest
from support.own_methods import write_examples

from factdrift.core.errors import CannotEdit, InputError
from factdrift.core.paths import CONFIG as SHIPPED
from factdrift.core.paths import PACKAGE
from factdrift.evaluation.locators import plan as locators
from factdrift.evaluation.methods.hyperparameters import Plan, needs, read_hyper
from factdrift.evaluation.methods.record import OWN, record_of, records, title_of, trained_editors

CONFIG: dict[str, Any] = {"models": ["sample", "gpt2-xl@main"], "methods": ["none", "rome", "memit", "mend"]}


def test_what_each_method_needs():
    plan = Plan(CONFIG)
    assert plan.needs("none", "gpt2-xl") == {}
    alone = Plan(CONFIG | {"methods": ["ft_l"]})
    assert alone.needs("ft_l", "gpt2-xl") == alone.needs("none", "gpt2-xl") == {}
    with pytest.raises(InputError, match="methods: rome is not among them"):
        alone.needs("rome", "gpt2-xl")
    assert plan.needs("rome", "gpt2-xl") == {"prefixes": "prefixes.rome.json", "moments": "moments"}
    assert plan.needs("memit", "sample-llama") == {"prefixes": "prefixes.memit.json", "moments": "moments"}
    assert plan.needs("mend", "gpt2-xl") == {"editor": "mend.safetensors"}
    assert needs(read_hyper("rome", "gpt2-xl", {"covariance": False})) == {"prefixes": "prefixes.rome.json"}


def test_one_job_counts_the_moments_of_all_layers_of_a_model():
    assert Plan(CONFIG).layers("gpt2-xl") == [13, 14, 15, 16, 17]
    assert Plan(CONFIG | {"rome": {"layer": 3}}).layers("gpt2-xl") == [3, 13, 14, 15, 16, 17]
    assert Plan(CONFIG | {"memit": {"covariance": False}}).layers("gpt2-xl") == [17]
    assert Plan(CONFIG | {"methods": ["ft"]}).layers("gpt2-xl") == []


def test_keys_of_methods_that_are_not_configured_are_checked():
    with pytest.raises(InputError, match=r"ft\.steps: 0 is less than the minimum of 1"):
        Plan(CONFIG | {"ft": {"steps": 0}})
    with pytest.raises(
        InputError, match=r"romy: no such method \(did you mean rome\?\); there are alphaedit"
    ):
        Plan(CONFIG | {"methods": ["romy"]})
    with pytest.raises(InputError, match=r"edit\.checkpoints: rome has no trained editor; .* one: mend$"):
        Plan(CONFIG | {"edit": {"checkpoints": {"mend": "mend.pt", "rome": "rome.pt"}}})


def model(folder: Path, layers: int = 28) -> str:
    """The folder of a model that no entry names; nothing but its configuration is there."""
    folder.mkdir(exist_ok=True)
    config = {"model_type": "llama", "num_hidden_layers": layers, "hidden_size": 1024}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return str(folder)


def test_a_model_that_no_entry_names_has_derived_layers(tmp_path):
    name = model(tmp_path / "new")
    plan = Plan(CONFIG | {"models": [name]})
    assert plan.skipped == []
    assert plan.layers(name) == [4, 5, 6, 7, 8]
    assert Plan(CONFIG | {"models": [name], "rome": {"layer": 11}}).layers(name) == [4, 5, 6, 7, 8, 11]


def test_a_model_whose_sizes_cannot_be_read_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"config\.json cannot be read"):
        Plan(CONFIG | {"models": [str(tmp_path)]})
    (tmp_path / "adapter_config.json").touch()
    with pytest.raises(InputError, match=r"is an adapter, .* `factdrift edit probe --model .* --edits EDITS"):
        Plan(CONFIG | {"models": [str(tmp_path)]})
    # One that says nothing of its sizes may be of no supported kind, and does not end a run of several.
    (tmp_path / "adapter_config.json").unlink()
    (tmp_path / "config.json").write_text('{"model_type": "qwen2_5_vl"}', encoding="utf-8")
    plan = Plan(CONFIG | {"models": ["gpt2-xl", str(tmp_path)]})
    assert {each.model for each in plan.skipped} == {str(tmp_path)}
    assert "has no num_hidden_layers or n_layer" in plan.skipped[0].skipped
    assert plan.methods("gpt2-xl")


def test_a_method_without_values_is_skipped_with_the_reason(tmp_path):
    """An example of the documents, which has values for one model and no rule for others."""
    name, known = model(tmp_path / "new"), "meta-llama/Llama-2-7b-hf"
    batched = f"{write_examples(tmp_path / 'examples')}/batched.py:edit"
    config = {"models": [name, known], "methods": ["none", batched, "ft"]}
    plan = Plan(config)
    ((skipped, method, reason),) = plan.skipped
    assert (skipped, method) == (name, "batched")
    assert "layer must be given" in reason
    assert (plan.methods(name), plan.methods(known)) == (["none", "ft"], ["none", "batched", "ft"])
    with pytest.raises(CannotEdit, match="layer must be given"):
        plan.needs("batched", name)
    with pytest.raises(CannotEdit, match="layer must be given"):
        Plan(config | {"strict": True})


OTHER_MEANINGS = {"none", "prompt", "replay"}
"""Also a value of switches, a column, and a way to ask a chat model."""


def test_places_and_titles_are_different():
    assert len({record.place for record in records().values()}) == len(records())
    assert len({title_of(name) for name in records()}) == len(records())
    assert (title_of("mine"), record_of("mine")) == ("mine", OWN)


def test_no_other_module_names_a_method_or_a_locator():
    names = (set(records()) | set(locators.records())) - OTHER_MEANINGS
    found = []
    own = {
        module.rpartition(".")[2] for name in names & set(records()) for module in record_of(name).modules()
    }
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8") if path.stem not in own else ""
        nodes = ast.walk(ast.parse(text)) if any(f'"{name}"' in text for name in names) else ()
        for node in nodes:
            if isinstance(node, ast.Constant) and node.value in names:
                found.append(f"{path.relative_to(PACKAGE)}, line {node.lineno}: {node.value}")
    assert not found, "\n".join(found)


@pytest.mark.parametrize("method", trained_editors())
def test_no_other_file_names_a_method_with_a_trained_editor(method):
    modules = (module.split(".")[1:] for module in record_of(method).modules())
    own = {PACKAGE.joinpath(*module).with_suffix(".py") for module in modules}
    files = {
        *PACKAGE.rglob("*.py"),
        *(PACKAGE.parents[1] / "rules").rglob("*.smk"),
        SHIPPED / "config.schema.yaml",
    } - own
    named = {}
    for path in files:
        text = path.read_text(encoding="utf-8")
        if path.name == "config.schema.yaml":  # the default of `methods` names those that are run
            text = re.sub(r"^    default: \[none, .*\]$", "", text, flags=re.MULTILINE)
        text = text.replace("eric-mitchell/mend", "")  # a repository of others
        if lines := [line for line in text.splitlines() if re.search(rf"(?i)\b{method}(_|-|\b)", line)]:
            named[path.name] = lines
    assert not named
