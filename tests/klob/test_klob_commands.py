"""`factdrift klob` as users call it, and what it says of wrong input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from factdrift.cli import main
from factdrift.core.errors import InputError
from factdrift.core.keys import read_settings, settings_of
from factdrift.core.paths import KLOB, NOUN_PHRASES
from factdrift.core.settings import check_files, configure
from factdrift.evaluation.methods.own import keys_of_methods
from factdrift.klob.settings import Settings

TABLES = ["--resources", str(KLOB), "--phrases", str(NOUN_PHRASES)]


def settled(**klob: Any) -> dict[str, Any]:
    config: dict[str, Any] = {"snapshots": {"old": "2021-01-04", "new": "2023-02-27"}, "klob": klob}
    configure(config, keys_of_methods)
    return config


def test_defaults_are_those_of_the_specification() -> None:
    assert settled()["klob"] == {
        "snapshot": "new",
        "templates": "own",
        "min_sitelinks": 10,
        "max_answer_share": "variant",
        "max_answer_share_revised": 0.25,
        "c": {"single_valued": True, "object_words": "any", "max_object_words": 5, "quota": "table2"},
        "r": {
            "source": "snapshot",
            "second_hop": "mquake44",
            "min_pair_support": 20,
            "max_pair_share": 0.1,
            "quota": 9548,
            "chain_text": "np",
        },
        "u": {"size": "per_sentence", "words": "web2", "words_sha256": ""},
        "recall": {
            "filter": "off",
            "need": "all",
            "demos": "",
            "device": "auto",
            "threads": 1,
            "budget": 8192,
            "runtime": 720,
        },
    }


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
    config = settled(**klob)
    text = settings_of(config | {"variant": variant}, Settings, "klob")
    assert read_settings(text, Settings, "klob").answer_share == share


def test_settings_hold_the_configuration_and_what_all_stages_share() -> None:
    config = settled(c={"quota": 3}, r={"quota": 7}, u={"size": 5}, recall={"budget": 100})
    settings = read_settings(
        settings_of(config | {"seed": 4, "slice": True}, Settings, "klob"), Settings, "klob"
    )
    assert (settings.c_quota, settings.r_quota, settings.size, settings.budget) == (3, 7, 5, 100)
    assert (settings.seed, settings.slice, settings.model) == (4, True, None)
    assert settings.page_classes == tuple(config["method"]["page_classes"]) != ()
    assert json.loads(settings_of(config, Settings, "klob", "second_hop")) == {"second_hop": "mquake44"}
    with pytest.raises(KeyError, match="second_hops"):
        settings_of(config, Settings, "klob", "second_hops")
    # Without a workflow the defaults of the schema hold.
    assert read_settings("{}", Settings, "klob").min_sitelinks == config["klob"]["min_sitelinks"]


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"c_quota": -1}, r"c.quota"),
        ({"c_quota": "some"}, r"quota"),
        ({"max_pair_share": 0}, r"max_pair_share"),
        ({"size": "all"}, r"size"),
        ({"batch_size": 4}, r"batch_size"),
    ],
)
def test_wrong_settings_of_a_command_are_named(
    settings: dict[str, Any], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--statements", "x", "--date", "2023-02-27", "-o", "y"]
    assert main(["klob", "facts", *arguments, "--settings", json.dumps(settings)]) == 1
    assert named in capsys.readouterr().err


def test_a_model_must_be_named_in_full(capsys: pytest.CaptureFixture[str]) -> None:
    files = [f"--{name}=x" for name in ("facts", "entities", "classes", "properties", "candidates", "chains")]
    files += ["--out-recall=x", "--out-passes=x", "--date=2023-02-27"]
    assert main(["klob", "recall", *files, "--settings", '{"model": "gpt2", "revision": "main"}']) == 1
    assert "dtype of klob.recall must be given" in capsys.readouterr().err


def test_settings_are_listed_by_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["klob", "examples", "--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert "second_hop" in said
    assert '`all` no limit, or a number. [default: "table2"]' in said


@pytest.mark.parametrize(
    ("klob", "named"),
    [
        ({"snapshot": "both"}, "klob.snapshot"),
        ({"c": {"quota": "some"}}, "klob.c.quota"),
        ({"c": {"quota": -1}}, "klob.c.quota"),
        ({"c": {"words": 3}}, "klob.c.words"),
        ({"r": {"max_pair_share": 0}}, "klob.r.max_pair_share"),
        ({"r": {"source": "mquake"}}, "'mquake' is a required property in klob.r"),
        ({"r": {"chain_text": "question"}}, "klob.r.chain_text"),
        ({"u": {"size": "all"}}, "klob.u.size"),
        ({"u": {"words_sha256": "abc"}}, "klob.u.words_sha256"),
        ({"recall": {"filter": "on"}}, "'model' is a required property in klob.recall"),
        ({"recall": {"filter": True, "model": "m", "revision": "r"}}, "'dtype' is a required property"),
        ({"recall": {"need": "most"}}, "klob.recall.need"),
        ({"recall": {"budget": 0}}, "klob.recall.budget"),
        ({"max_answer_share": 0}, "klob.max_answer_share"),
    ],
)
def test_wrong_values_are_named(klob: dict[str, Any], named: str) -> None:
    with pytest.raises(InputError) as error:
        settled(**klob)
    assert named in str(error.value)


def test_on_and_off_are_truth_values_in_yaml() -> None:
    written = yaml.safe_load("recall: {filter: off, need: any}")
    assert settled(**written)["klob"]["recall"]["filter"] == "off"


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
        check_files(settled(**klob))


def test_our_templates_pass(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["klob", "templates", str(KLOB / "klob_templates.tsv"), *TABLES]) == 0
    assert capsys.readouterr().out == "96 templates, 0 defects, 0 warnings\n"


def test_a_users_templates_are_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "t.json"
    table.write_text(
        '{"P36": ["[X] is the capital of [Y]", "Its capital, [X] : [Y]", "[X] [Y]"]}', encoding="utf-8"
    )
    assert main(["klob", "templates", str(table), *TABLES]) == 1
    said = capsys.readouterr()
    assert "T11 P36-1" in said.out
    assert "T09 P36-2" in said.out
    assert "T14" not in said.out
    assert "defects; fix them" in said.err
    report = tmp_path / "report.txt"
    assert main(["klob", "templates", str(table), *TABLES, "--report", str(report)]) == 0
    assert report.read_text(encoding="utf-8") == said.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["klob", "templates", "none.tsv"], "none.tsv: no such file"),
        (["klob", "mquake", "none.json", "-o", "x"], "none.json: no such file"),
        (["klob", "export", "none.parquet", "-o", "x"], "none.parquet"),
    ],
)
def test_missing_files(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    tables = TABLES if arguments[1] != "export" else []
    assert main([*arguments, *tables]) == 1
    assert message in capsys.readouterr().err
