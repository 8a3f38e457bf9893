"""The updates of one subject as text: by id or name, with a choice where a name is no one's or several's."""

from pathlib import Path

import pytest
from support.updates import dataset, update

from factdrift.core.errors import InputError
from factdrift.wikifactdiff.show import find


@pytest.fixture
def path(tmp_path: Path) -> Path:
    names = ("São Tomé", "Georgia", "Georgia")
    rows = [update("America", number) for number in (1, 2, 3)]
    for row, name in zip(rows, names, strict=True):
        row["subject"]["label"] = name
    return dataset(tmp_path / "wikifactdiff.parquet", rows)


def test_a_name_is_as_good_as_an_id(path: Path) -> None:
    (found,) = find(path, "sao tome", "Head of Government", None)
    (same,) = find(path, "Q1", None, None)
    assert found == same


@pytest.mark.parametrize(
    ("subject", "relation", "said"),
    [
        ("Sao Tomme", None, "no subject of an update is called Sao Tomme; did you mean São Tomé \\(Q1\\)"),
        ("Georgia", None, "Georgia is the name of Q2, Q3; give the id of one"),
        ("Xyzzy", None, "called Xyzzy; `factdrift show --search TEXT` lists"),
        ("Q1", "head of goverment", "did you mean head of government"),
        ("Q9", None, "no update of Q9; `factdrift why Q9 RELATION` says why"),
    ],
)
def test_a_choice_is_offered(path: Path, subject: str, relation: str | None, said: str) -> None:
    with pytest.raises(InputError, match=said):
        find(path, subject, relation, None)
