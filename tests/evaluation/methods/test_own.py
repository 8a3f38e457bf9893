"""Methods of the user's own: names, hyper-parameters, what is refused; none is imported."""

import textwrap
from pathlib import Path

import pytest
from support.configured import configured
from support.own_methods import write_examples

from factdrift.core.errors import InputError
from factdrift.evaluation.methods.hyperparameters import needs, read_hyper
from factdrift.evaluation.methods.own import entries, entry
from factdrift.models.names import Sizes


def own(folder: Path, code: str, yaml: str = "", name: str = "mine") -> str:
    (folder / f"{name}.py").write_text(code, encoding="utf-8")
    if yaml:
        (folder / f"{name}.yaml").write_text(yaml, encoding="utf-8")
    return f"{folder}/{name}.py:edit"


def test_methods_are_named_after_their_files(tmp_path):
    given = own(tmp_path, "import no_such_module\ndef edit(model, tokenizer, update): ...\n")
    found = entry(given)
    assert (found.name, found.path, found.plain) == ("mine", tmp_path / "mine.py", True)
    more = "def edit(model, tokenizer, update): ...\ndef other(loaded, edits, hyper, artefacts): ...\n"
    own(tmp_path, more)
    other = entry(f"{tmp_path}/mine.py:other")
    assert (other.name, other.plain) == ("mine.other", False)
    assert (entry("rome").name, entry("rome").path) == ("rome", None)
    assert entry(given).code != found.code
    assert read_hyper(given, "tiny").digest() != read_hyper(f"{tmp_path}/mine.py:other", "tiny").digest()


def test_parameters_of_a_plain_method_are_its_keys(tmp_path):
    parameters = "lr=0.1, steps=5, deep=False, blocks=(1, 2), *, tag='a', size: int"
    given = own(tmp_path, f"def edit(model, tokenizer, update, {parameters}): ...\n")
    values = {"steps": "7", "deep": "true", "size": "3", "blocks": ["4"], "lr": 2}
    assert dict(read_hyper(given, "tiny", values)) == {
        **{"lr": 2, "steps": 7, "deep": True, "blocks": [4], "tag": "a", "size": 3}
    }
    assert read_hyper(given, "tiny", {"size": 1})["blocks"] == [1, 2]
    for wrong, said in (
        ({}, "size must be given"),
        ({"size": 1, "color": 2}, "configuration: mine.color: no such key; there are lr, steps"),
        ({"size": 1, "steps": 2.5}, "mine.steps: 2.5 is not of type 'integer'"),
        ({"size": 1, "deep": "maybe"}, "mine.deep: 'maybe' is not of type 'boolean'"),
    ):
        with pytest.raises(InputError, match=said):
            read_hyper(given, "tiny", wrong)


def test_a_yaml_file_beside_the_code_describes_the_keys(tmp_path):
    folder = write_examples(tmp_path / "examples")
    given = f"{folder}/batched.py:edit"
    hyper = read_hyper(given, "meta/Llama-2-7b-hf")
    assert (dict(hyper), hyper.source) == ({"layer": 20, "scale": 10}, "my notes")
    assert entry(given).files() == [folder / "batched.py", folder / "batched.yaml"]
    assert entry(f"{folder}/mine.py:edit").files() == [folder / "mine.py"]
    with pytest.raises(InputError, match=r"batched\.yaml: nothing is known of the model tiny: layer must be"):
        read_hyper(given, "tiny")
    with pytest.raises(InputError, match=r"batched\.layer: -1 is less than the minimum"):
        read_hyper(given, "tiny", {"layer": -1})


def test_a_key_may_have_several_types(tmp_path):
    yaml = "keys: {size: {type: [integer, 'null'], default: null}, tag: {type: [number, string], default: 1}}"
    given = own(tmp_path, "def edit(model, tokenizer, update, **more): ...\n", yaml)
    assert dict(read_hyper(given, "tiny", {"size": "3", "tag": "4"})) == {"size": 3, "tag": "4"}
    assert dict(read_hyper(given, "tiny")) == {"size": None, "tag": 1}
    with pytest.raises(InputError, match=r"mine\.size: 'many' is not of type 'integer', 'null'"):
        read_hyper(given, "tiny", {"size": "many"})
    batched = own(tmp_path, "def edit(loaded, edits, hyper, artefacts): ...\n", name="batched")
    with pytest.raises(InputError, match=r"batched\.scale: no such key; there are none"):
        read_hyper(batched, "tiny", {"scale": 1})


def test_rules_give_values_for_models_that_no_entry_names(tmp_path):
    described = """
    keys: {layer: {type: integer}, layers: {type: array}, rate: {type: number}, steps: {default: 3}}
    derived:
      rules:
        layer: {share: 1}
        layers: {between: [0.25, 0.5], most: 2}
        rate: {by_width: {1000: 0.1, 100: 1}}
    models: [{names: [known], layer: 1, layers: [1], rate: 2}]
    """
    code = "def edit(model, tokenizer, update, layer, layers, rate, steps=3): ..."
    given = own(tmp_path, code, textwrap.dedent(described))
    hyper = read_hyper(given, "tiny", sizes=lambda: Sizes(8, 100))
    assert dict(hyper) == {"layer": 7, "layers": [3, 4], "rate": 1, "steps": 3}
    assert hyper.derived == ("layer", "layers", "rate")
    assert hyper.source.startswith("derived, not tuned: layer 7 of 8")
    assert read_hyper(given, "known", sizes=lambda: Sizes(8, 100)).derived == ()


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("def edit(model, words): ...", r"its parameters are \(model, words\); a method is edit\(model, tok"),
        ("def edit(:", "is no Python code"),
        ("from other import edit", "defines no function edit; it defines none"),
        ("def edit(model, tokenizer, update, lr=1 / 3): ...", "default of lr is no plain value"),
    ],
)
def test_code_that_is_no_method_is_refused(tmp_path, code, said):
    with pytest.raises(InputError, match=said):
        entry(own(tmp_path, code))


@pytest.mark.parametrize(
    ("yaml", "said"),
    [
        ("keys: [1]", r"mine.yaml: keys: \[1\] is not of type 'object'"),
        ("keys: {lr: {type: real}}", "keys.lr is no JSON Schema"),
        ("keys: {lr: {}, mu: {}}", "edit has no parameter mu"),
        ("keys: {}", "the parameter lr of edit is no key"),
        ("keys: {lr: {}}\nmodels: [{names: [a], mu: 1}]", "models.0: mu is not among its keys"),
        ("keys: {lr: {type: number}}\nmodels: [{names: [a], lr: x}]", "models.0.lr: 'x' is not of type"),
        ("keys: {lr: {type: number}}\nmodels: [{names: [a], lr: .nan}]", "models.0.lr: nan is not of type"),
        ("keys: {", "mine.yaml: while parsing"),
        ("keys: {lr: {}}\nkeys: {}", "mine.yaml: a key is there twice: 'keys'"),
        ("keys: {lr: {}}\nderived: {rules: {mu: {value: 1}}}", "derived.rules: mu is not among its"),
        ("keys: {lr: {}}\nderived: {rules: {lr: {part: 1}}}", "derived.rules.lr: .* is not valid"),
        ("keys: {lr: {}}\ntune: {shares: [0.5]}", "tune.shares: there is no key layer"),
    ],
)
def test_a_description_that_does_not_fit_is_refused(tmp_path, yaml, said):
    with pytest.raises(InputError, match=said):
        entry(own(tmp_path, "def edit(model, tokenizer, update, lr): ...\n", yaml))


def test_names_that_are_taken_are_refused(tmp_path):
    code = "def edit(model, tokenizer, update): ...\n"
    with pytest.raises(InputError, match=r"would be called rome, as a method of factdrift"):
        entry(own(tmp_path, code, name="rome"))
    (tmp_path / "other").mkdir()
    twice = [own(tmp_path, code), own(tmp_path / "other", code)]
    with pytest.raises(InputError, match="methods: two are called mine"):
        entries(twice)
    with pytest.raises(InputError, match="begin with a letter"):
        entry(own(tmp_path, code, name="1 method"))
    with pytest.raises(InputError, match="seed, which is a key of the configuration"):
        configured(methods=[own(tmp_path, code, name="seed")])
    with pytest.raises(InputError, match="there is no file"):
        entry(f"{tmp_path}/none.py:edit")


def test_only_batched_methods_get_what_the_workflow_computes(tmp_path):
    plain = own(
        tmp_path, "def edit(model, tokenizer, update, covariance=True, prefixes=3, layers=None): ...\n"
    )
    assert needs(read_hyper(plain, "tiny")) == {}
    assert read_hyper(plain, "tiny").layers == []
    batched = "def edit(loaded, edits, hyper, artefacts): ...\n"
    yaml = "keys: {covariance: {default: true}, layers: {default: [1, 2]}, prefixes: {default: []}}"
    hyper = read_hyper(own(tmp_path, batched, yaml, "own_rome"), "tiny")
    assert needs(hyper) == {"prefixes": "prefixes.own_rome.json", "moments": "moments"}
    assert hyper.layers == [1, 2]
