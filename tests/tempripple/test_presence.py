"""What happens when the snapshot does not know the properties and classes of the method, or knows them
otherwise."""

from __future__ import annotations

import pyarrow as pa
import pytest
from support.ripples import RELATIONS

from factdrift.core.errors import InputError
from factdrift.tempripple.presence import check_presence
from factdrift.tempripple.sources import DECLARATIONS, TERMS, Ids


class Known:
    """A source that declares the given properties."""

    def __init__(self, without: set[str] = frozenset(), **other: str) -> None:
        self.without, self.other = without, other

    def declarations(self, properties: Ids):
        relations = {**RELATIONS.immutable, **RELATIONS.mutable}
        rows = [
            {
                "id": number,
                "label": relations[number].label,
                "datatype": self.other.get(f"P{number}", relations[number].datatype),
            }
            for number in properties.tolist()
            if f"P{number}" not in self.without
        ]
        return pa.Table.from_pylist(rows, DECLARATIONS)

    def terms(self, items: Ids):
        labels = {entry.number: entry.label for entry in RELATIONS.types}
        rows = [
            {"id": number, "label": self.other.get(f"Q{number}", labels[number]), "aliases": []}
            for number in items.tolist()
            if f"Q{number}" not in self.without
        ]
        return pa.Table.from_pylist(rows, TERMS)


def test_presence(capsys):
    assert check_presence(Known(), RELATIONS, False) == ([], [])  # type: ignore[arg-type]
    renamed = check_presence(Known(Q5="person"), RELATIONS, False)  # type: ignore[arg-type]
    assert renamed == ([], ["Q5: 'human' is called 'person'"])
    assert "Q5: 'human' is called 'person'" in capsys.readouterr().err


def test_missing_properties_and_classes_fail_unless_it_is_a_slice():
    lacking = Known({"P498", "Q5"})
    with pytest.raises(InputError, match=r"lacks .*P498 ISO 4217 code, Q5 human; .*tempripple.slice: true"):
        check_presence(lacking, RELATIONS, False)  # type: ignore[arg-type]
    assert check_presence(lacking, RELATIONS, True).missing == ["P498 ISO 4217 code", "Q5 human"]  # type: ignore[arg-type]


def test_another_datatype_fails_always():
    with pytest.raises(InputError, match=r"P498 .*string, TempRIPPLE as external-id"):
        check_presence(Known(P498="string"), RELATIONS, True)  # type: ignore[arg-type]
