"""`factdrift klob` as users call it, and what it says of wrong input."""

import json
from typing import Any

import pytest
import yaml
from support.configured import configured

from factdrift.cli import main
from factdrift.core.errors import InputError
from factdrift.core.keys import read_settings, settings_of
from factdrift.core.paths import KLOB_TEMPLATES
from factdrift.core.settings import check_files
from factdrift.klob.relations import read_choice
from factdrift.klob.settings import Settings
from factdrift.klob.templates import read_templates, report


def test_defaults_are_those_of_the_specification():
    settings = read_settings("{}", Settings, "klob")
    assert (settings.c_quota, settings.r_quota, settings.size) == ("table2", 9548, "per_sentence")
    assert (settings.single_valued, settings.max_object_words, settings.min_sitelinks) == (True, 5, 10)
    assert (settings.second_hop, settings.min_pair_support, settings.max_pair_share) == ("mquake44", 20, 0.1)
    assert (settings.words, settings.filter, settings.need) == ("web2", "off", "all")


def settings(klob: dict[str, Any], **keys: Any) -> Settings:
    """The settings of a configuration."""
    return read_settings(settings_of(configured(klob=klob) | keys, Settings, "klob"), Settings, "klob")


@pytest.mark.parametrize(
    ("variant", "klob", "share"),
    [
        ("paper", {}, 1),
        ("revised", {"max_answer_share_revised": 0.5}, 0.5),
        ("revised", {"max_answer_share": 1}, 1),
    ],
)
def test_revised_limits_the_share_of_an_answer(variant, klob, share):
    assert settings(klob, variant=variant).answer_share == share


def test_settings_hold_the_configuration_and_what_all_stages_share():
    recall = yaml.safe_load("{filter: off, budget: 100}")
    found = settings({"c": {"quota": 3}, "r": {"quota": 7}, "u": {"size": 5}, "recall": recall}, seed=4)
    assert (found.c_quota, found.r_quota, found.size, found.budget) == (3, 7, 5, 100)
    assert (found.seed, found.filter, found.model) == (4, "off", None)
    assert found.page_classes == tuple(configured()["method"]["page_classes"]) != ()


@pytest.mark.parametrize("missing", ["model", "revision", "dtype"])
def test_a_model_must_be_named_in_full(missing, capsys):
    files = [f"--{name}=x" for name in ("facts", "entities", "classes", "properties", "candidates", "chains")]
    files += ["--out-recall=recall", "--out-passes=passes", "--date=2023-02-27"]
    given = {"model": "gpt2", "revision": "main", "dtype": "float32"}
    del given[missing]
    assert main(["klob", "recall", *files, "--settings", json.dumps(given)]) == 1
    assert f"{missing} of klob.recall must be given" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("klob", "named"),
    [
        ({"c": {"quota": "some"}}, r"klob\.c\.quota"),
        ({"r": {"source": "mquake"}}, r"'mquake' is a required property in klob\.r"),
        ({"recall": {"filter": True, "model": "m", "revision": "r"}}, "'dtype' is a required property"),
        ({"templates": "none.tsv"}, r"klob\.templates: none\.tsv does not exist"),
        ({"r": {"source": "mquake", "mquake": "none.json"}}, r"klob\.r\.mquake: none\.json does not"),
        ({"u": {"words": "none.txt"}}, r"klob\.u\.words: none\.txt does not exist"),
        ({"recall": {"demos": "none.json"}}, r"klob\.recall\.demos: none\.json does not exist"),
    ],
)
def test_wrong_values_and_missing_files_are_named(klob, named):
    with pytest.raises(InputError, match=named):
        check_files(configured(klob=klob))


def test_templates_are_reported(tmp_path, capsys, monkeypatch):
    relations = read_choice().relations
    report(read_templates(KLOB_TEMPLATES, relations), relations)
    assert capsys.readouterr().out == ""
    table = tmp_path / "t.json"
    table.write_text(
        '{"P36": ["[X] is the capital of [Y]", "Its capital, [X] : [Y]", "[X] [Y]"]}', encoding="utf-8"
    )
    report(read_templates(table, relations), relations)
    out = capsys.readouterr().out
    assert {"T11 P36-1", "T09 P36-2"} < {line[:9] for line in out.splitlines()}
    assert "T14" not in out
    assert out.splitlines()[-1] == f"t.json: 3 templates, {len(out.splitlines()) - 1} defects, 0 warnings"
    # The project's own table must have no defect, a copy of a user's may.
    text = KLOB_TEMPLATES.read_text(encoding="utf-8")
    own = tmp_path / "own.tsv"
    own.write_text(text.replace("The capital of [X] is", "The capital : [X] is"), encoding="utf-8")
    report(read_templates(own, relations), relations)
    assert "T09 P36-" in capsys.readouterr().out
    monkeypatch.setattr("factdrift.klob.templates.KLOB_TEMPLATES", own)
    with pytest.raises(InputError, match=r"own\.tsv: \d defects; fix them"):
        report(read_templates(own, relations), relations)
    assert "T14 P36-" in capsys.readouterr().out
