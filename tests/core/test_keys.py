"""Settings of a stage as one option: defaults from the schema, errors that name the key, a list in --help."""

from pathlib import Path

import msgspec
import pytest

from factdrift.core import keys
from factdrift.core.errors import InputError
from factdrift.core.keys import default_of, listing, read_settings, settings_of


class Neighbors(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    entities: int
    facts: int
    random: int


def test_defaults_are_those_of_the_schema(tmp_path: Path):
    defaults = {name: default_of(f"neighbors.{name}") for name in ("entities", "facts", "random")}
    assert read_settings("{}", Neighbors, "neighbors") == Neighbors(**defaults)
    path = tmp_path / "settings.json"
    path.write_text('{"facts": 3}')
    assert read_settings(f"@{path}", Neighbors, "neighbors") == Neighbors(**defaults | {"facts": 3})


class Stream(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    probes: int


class Edit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    regime: str
    stream: Stream


def test_a_nested_key_may_be_a_struct_of_its_own():
    probes = default_of("edit.stream.probes")
    assert read_settings("{}", Edit, "edit") == Edit("independent", Stream(probes))
    assert read_settings('{"stream": {"probes": 7}}', Edit, "edit") == Edit("independent", Stream(7))
    lines = listing(Edit, "edit")
    assert "  stream.probes (number): Number of earlier edits" in lines
    assert f"[default: {probes}]" in lines


@pytest.mark.parametrize(
    ("kind", "text", "named"),
    [
        (Neighbors, '{"facts": "3"}', "$.facts"),
        (Neighbors, "[]", "object"),
        (Neighbors, "{", "not JSON"),
        (Neighbors, '{"facts": NaN}', "NaN is no number"),
        (Neighbors, '{"facts": -1}', "neighbors.facts: -1 is less than the minimum"),
        (Neighbors, "[" * 100_000, "not JSON"),
        (Neighbors, "@/no/such/file", "/no/such/file"),
        (Edit, '{"stream": {"probes": 0}}', "edit.stream.probes: 0 is less"),
        (Edit, '{"stream": {"calls": 1}}', "calls"),
    ],
)
def test_what_is_wrong_is_named(kind: type[msgspec.Struct], text: str, named: str):
    with pytest.raises(InputError) as error:
        read_settings(text, kind, kind.__name__.lower())
    assert named in str(error.value)


class Elsewhere(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    facts: int
    test_share: float
    verbalization_triples: int
    snapshots_old: str


def test_keys_elsewhere_in_the_configuration_have_their_full_names():
    found = read_settings('{"snapshots_old": "2021-01-04"}', Elsewhere, "neighbors")
    assert found == Elsewhere(10, 0.2, 100, "2021-01-04")
    config = {"neighbors": {"facts": 3, "random": 1}, "test_share": 0.5, "verbalization": {"triples": 7}}
    config["snapshots"] = {"old": "2020-01-01", "new": "2021-01-01"}
    text = settings_of(config, Elsewhere, "neighbors")
    assert read_settings(text, Elsewhere, "neighbors") == Elsewhere(3, 0.5, 7, "2020-01-01")


def test_texts_that_are_allowed_without_jsonschema_are_allowed_by_it():
    """Of every key, values of all keys, and such that are nearly one."""
    entries = keys._entries()
    listed = [value for entry in entries.values() for value in entry.get("enum", ())]
    values = [*listed, "", "x", "2021-01-04", "2021-01-04\n", " 2021-01-04", "latest", "P1", "Q64\n", 1, True]
    allowed = 0
    for path, entry in entries.items():
        by_schema = keys.validator()({**entry, "$defs": keys.read_schema()["$defs"]})
        for value in dict.fromkeys(values):
            if keys._is_allowed_text(entry, value):
                allowed += 1
                assert by_schema.is_valid(value), (path, value)
            elif isinstance(value, str) and entry.get("type") == "string":
                assert not by_schema.is_valid(value) or entry.keys().isdisjoint({"enum", "pattern"})
    assert allowed > len(listed)
    assert keys._is_allowed_text(entries["snapshots", "old"], "2021-01-04")
