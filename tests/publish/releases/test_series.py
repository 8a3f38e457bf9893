"""The configuration that all releases of a series share."""

from pathlib import Path
from typing import Any

import pytest

from factdrift.core.errors import InputError
from factdrift.core.files import read_yaml
from factdrift.core.paths import SCHEMA
from factdrift.core.settings import configure
from factdrift.evaluation.methods.own import keys_of_methods
from factdrift.publish.releases.series import check_unchanged, configuration

FREE = {
    *("snapshots", "stream", "dumps", "contact", "wikidata_api", "refresh", "shards", "check_disk"),
    *("cluster", "max_bad_lines", "languages", "audit", "tempripple", "klob", "slice", "models", "taught"),
    *("methods", "strict", "edit", "ripples", "moments", "locators", "locate", "answer", "written"),
    "publish",
}
"""Keys on which no product of a release depends."""


def complete(**keys: Any) -> dict[str, Any]:
    config = {"snapshots": {"old": "2021-01-04", "new": "2023-02-27"}, **keys}
    configure(config, keys_of_methods)
    return config


def test_every_key_is_compared_or_known_to_change_no_release() -> None:
    schema = read_yaml(SCHEMA)["properties"]
    compared = {
        key.partition(".")[0] for key in configuration(complete(verbalizer="chat", chat={"model": "m"}))
    }
    assert compared | FREE == schema.keys()
    assert not compared & FREE


@pytest.mark.parametrize(
    ("keys", "named"),
    [
        ({"variant": "revised"}, 'variant (was "paper", is "revised")'),
        ({"method": {"start": "P571"}}, 'method.start (was "P580", is "P571")'),
        ({"only": {"relations": ["P6"]}}, 'only.relations (was [], is ["P6"])'),
        ({"scope": "all"}, "scope (was"),
        ({"buckets": 3}, "buckets (was"),
        ({"neighbors": {"random": 3}}, "neighbors.random (was 10, is 3)"),
    ],
)
def test_a_change_names_its_keys(keys: dict[str, Any], named: str) -> None:
    default, now = configuration(complete()), configuration(complete(**keys))
    with pytest.raises(InputError) as refused:
        check_unchanged(default, now, default, Path("results/releases/2026-11-16"))
    assert named in str(refused.value)
    assert "results/releases/2026-11-16" in str(refused.value)
    assert "run `factdrift refresh` in another directory" in str(refused.value)


@pytest.mark.parametrize(
    "keys",
    [
        {"shards": 7, "max_bad_lines": 0.5, "contact": "a@b.org", "edit": {"limit": 3}},
        {"dates": "first_day"},  # what the variant says anyway
        {"neighbors": {"blocks": 9}},
    ],
)
def test_what_changes_no_result_may_change(keys: dict[str, Any]) -> None:
    assert configuration(complete(**keys)) == configuration(complete())


def test_a_key_of_a_newer_version_counts_as_its_default() -> None:
    default = configuration(complete())
    before = {key: value for key, value in default.items() if key != "variant"}
    check_unchanged(before, default, default, Path("r"))
    with pytest.raises(InputError, match="variant"):
        check_unchanged(before, configuration(complete(variant="revised")), default, Path("r"))


def test_files_count_by_their_content(tmp_path: Path) -> None:
    first, second = tmp_path / "a.txt", tmp_path / "b.txt"
    for path in (first, second):
        path.write_text("Q30\n")
    before = configuration(complete(only={"subjects": str(first)}))
    assert before == configuration(complete(only={"subjects": str(second)}))
    second.write_text("Q31\n")
    with pytest.raises(InputError, match=r"only\.subjects"):
        check_unchanged(before, configuration(complete(only={"subjects": str(second)})), {}, tmp_path)
    second.unlink()
    with pytest.raises(InputError, match=r"only\.subjects: .*b\.txt does not exist"):
        configuration(complete(only={"subjects": str(second)}))
