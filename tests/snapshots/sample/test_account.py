"""How far to trust the sample: the account of its parts, and the warning beyond their end."""

import json

import pytest

from factdrift.cli import main
from factdrift.core.errors import InputError
from factdrift.core.manifests import warnings
from factdrift.core.paths import SAMPLE
from factdrift.snapshots.sample.account import Part, account, check_pair, first_end, read_parts, warning

FACTS = [
    {"subject": "Q1", "property": "P6", "value": "Q2", "checked": "copied"},
    {"subject": "Q1", "property": "P6", "value": "Q3", "checked": "an almanac"},
    {"subject": "Q1", "property": "P39", "value": "Q900000001"},
]
MADE_UP = [{"id": "Q900000001", "label": "an office"}]


def call(*arguments: object) -> None:
    assert main([str(each) for each in arguments]) == 0


def test_parts_count_items_ids_and_checks(write_tables):
    (part,) = read_parts(write_tables(FACTS, MADE_UP))
    checks = {"compared": 1, "copied": 1, "general knowledge": 1}
    assert part == Part("a", "2023-02-27", 6, 1, checks)
    assert account([part], "2023-02-27") == {
        "complete_until": {"a": "2023-02-27"},
        "incomplete": [],
        "longer": {},
        "items": 6,
        "made_up_ids": 1,
        "facts": 3,
        "checked_share": dict.fromkeys(checks, 0.3333),
    }
    assert warning([part], "2023-02-27") == ""
    assert "not complete on 2023-02-28 (a until 2023-02-27)" in warning([part], "2023-02-28")


def test_what_goes_on_longer_is_named():
    parts = read_parts(SAMPLE)
    said = warning(parts, "2024-06-01")
    assert first_end(SAMPLE) == "2023-02-27"
    assert "companies until 2023-02-27 but chief executives until 2024-12-31" in said
    assert "politics" not in said
    [line, _] = warnings({"sample": {"2024-06-01": account(parts, "2024-06-01")}})
    assert "companies until 2023-02-27 but chief executives until 2024-12-31" in line


def test_the_commands_say_it(write_tables, tmp_path, capsys):
    folder, dump, saved = write_tables(FACTS, MADE_UP), tmp_path / "dump.json", tmp_path / "account.json"
    call("sample", "render", "--tables", folder, "--date", "2024-01-01", "--account", saved, "-o", dump)
    said = capsys.readouterr()
    assert said.out == f"{dump}: 15 entities\n"
    assert "the sample is not complete on 2024-01-01" in said.err
    assert json.loads(saved.read_text())["incomplete"] == ["a"]
    with pytest.raises(SystemExit):
        call("sample", "render", "--date", "2021-02-30", "-o", dump)
    assert "'2021-02-30' is no date; write it as 2021-01-04" in capsys.readouterr().err


def test_the_sample_s_readme_shows_how_far_each_part_was_checked():
    lines = [f"{'part':10} {'complete until':14} {'items':>6} {'ids made up':>11}  facts"]
    for part in read_parts(SAMPLE):
        facts = ", ".join(f"{number:,} {name}" for name, number in part.checks.items())
        line = f"{part.name:10} {part.complete_until:14} {part.items:6,} {part.made_up_ids:11,}  {facts}"
        lines.append(line)
    table = "\n".join(lines)
    # If this fails, put this table into the section "Checked dates".
    assert f"```\n{table}\n```" in (SAMPLE / "README.md").read_text("utf-8"), table
    assert sum(part.made_up_ids for part in read_parts(SAMPLE)) < 600


def test_a_pair_of_dates_without_a_change_between_is_refused():
    check_pair(SAMPLE, "2023-03-01", "2024-12-01")
    for old, new in (("2025-02-01", "2026-01-01"), ("2010-01-01", "2020-01-01")):
        said = rf"{old} and {new}.* between 2012-10-29.* and 2024-12-31; choose two dates between"
        with pytest.raises(InputError, match=said):
            check_pair(SAMPLE, old, new)
