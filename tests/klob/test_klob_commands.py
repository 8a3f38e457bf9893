"""`factdrift klob` as users call it, and what it says of wrong input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.configured import configured

from factdrift.cli import main
from factdrift.core.errors import InputError
from factdrift.core.keys import read_settings, settings_of
from factdrift.core.settings import check_files
from factdrift.klob.settings import Settings


def test_defaults_are_those_of_the_specification() -> None:
    settings = read_settings("{}", Settings, "klob")
    assert (settings.c_quota, settings.r_quota, settings.size) == ("table2", 9548, "per_sentence")
    assert (settings.single_valued, settings.max_object_words, settings.min_sitelinks) == (True, 5, 10)
    assert (settings.second_hop, settings.min_pair_support, settings.max_pair_share) == ("mquake44", 20, 0.1)
    assert (settings.words, settings.filter, settings.need) == ("web2", "off", "all")


@pytest.mark.parametrize(
    ("variant", "klob", "share"),
    [
        ("paper", {}, 1),
        ("revised", {}, 0.25),
        ("revised", {"max_answer_share_revised": 0.5}, 0.5),
        ("revised", {"max_answer_share": 1}, 1),
        ("reference", {"max_answer_share": 0.1}, 0.1),
    ],
)
def test_revised_limits_the_share_of_an_answer(variant: str, klob: dict[str, Any], share: float) -> None:
    config = configured(klob=klob)
    text = settings_of(config | {"variant": variant}, Settings, "klob")
    assert read_settings(text, Settings, "klob").answer_share == share


def test_settings_hold_the_configuration_and_what_all_stages_share() -> None:
    klob = {"c": {"quota": 3}, "r": {"quota": 7}, "u": {"size": 5}, "recall": {"budget": 100}}
    config = configured(klob=klob)
    settings = read_settings(
        settings_of(config | {"seed": 4, "slice": True}, Settings, "klob"), Settings, "klob"
    )
    assert (settings.c_quota, settings.r_quota, settings.size, settings.budget) == (3, 7, 5, 100)
    assert (settings.seed, settings.slice, settings.model) == (4, True, None)
    assert settings.page_classes == tuple(config["method"]["page_classes"]) != ()
    assert json.loads(settings_of(config, Settings, "klob", "second_hop")) == {"second_hop": "mquake44"}
    with pytest.raises(KeyError, match="second_hops"):
        settings_of(config, Settings, "klob", "second_hops")


def test_a_model_must_be_named_in_full(capsys: pytest.CaptureFixture[str]) -> None:
    files = [f"--{name}=x" for name in ("facts", "entities", "classes", "properties", "candidates", "chains")]
    files += ["--out-recall=x", "--out-passes=x", "--date=2023-02-27"]
    assert main(["klob", "recall", *files, "--settings", '{"model": "gpt2", "revision": "main"}']) == 1
    assert "dtype of klob.recall must be given" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("klob", "named"),
    [
        ({"c": {"quota": "some"}}, "klob.c.quota"),
        ({"r": {"source": "mquake"}}, "'mquake' is a required property in klob.r"),
        ({"r": {"chain_text": "question"}}, "klob.r.chain_text"),
        ({"u": {"words_sha256": "abc"}}, "klob.u.words_sha256"),
        ({"recall": {"filter": "on"}}, "'model' is a required property in klob.recall"),
        ({"recall": {"filter": True, "model": "m", "revision": "r"}}, "'dtype' is a required property"),
    ],
)
def test_wrong_values_are_named(klob: dict[str, Any], named: str) -> None:
    with pytest.raises(InputError) as error:
        configured(klob=klob)
    assert named in str(error.value)


def test_on_and_off_are_truth_values_in_yaml() -> None:
    written = yaml.safe_load("recall: {filter: off, need: any}")
    assert configured(klob=written)["klob"]["recall"]["filter"] == "off"


@pytest.mark.parametrize(
    "klob",
    [
        {"templates": "none.tsv"},
        {"r": {"source": "mquake", "mquake": "none.json"}},
        {"u": {"words": "none.txt"}},
        {"recall": {"demos": "none.json"}},
    ],
)
def test_missing_files_are_named_when_the_configuration_is_read(klob: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"klob\.[a-z.]+: none\.\w+ does not exist"):
        check_files(configured(klob=klob))


def test_templates_are_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["klob", "templates"]) == 0
    assert capsys.readouterr().out == "96 templates, 0 defects, 0 warnings\n"
    table = tmp_path / "t.json"
    table.write_text(
        '{"P36": ["[X] is the capital of [Y]", "Its capital, [X] : [Y]", "[X] [Y]"]}', encoding="utf-8"
    )
    assert main(["klob", "templates", str(table)]) == 1
    said = capsys.readouterr()
    assert "T11 P36-1" in said.out
    assert "T09 P36-2" in said.out
    assert "T14" not in said.out
    assert "defects; fix them" in said.err
    report = tmp_path / "report.txt"
    assert main(["klob", "templates", str(table), "--report", str(report)]) == 0
    assert report.read_text(encoding="utf-8") == said.out
