"""The layout of the package: few rooms, whose imports run one way (benchmarks/structure.py counts them)."""

import fnmatch
from pathlib import Path

import pytest
from structure import NEWER, ROOT, imports_between, lines, long_signatures, longest_chain, newer, rooms_of

from factdrift.core.paths import PACKAGE

ROOMS = 24
FLOORS = 7
"""The longest chain of rooms that import each other, in rooms."""


@pytest.mark.parametrize("house", [PACKAGE, PACKAGE / "evaluation"], ids=lambda house: house.name)
def test_rooms_and_floors_are_few_and_no_rooms_import_each_other(house: Path):
    rooms = rooms_of(house)
    assert len(rooms) <= ROOMS, f"{len(rooms)} rooms: {', '.join(sorted(rooms))}; fold one into another"
    imports = imports_between(house)
    chain = longest_chain(imports)
    assert len(chain) <= FLOORS, f"{len(chain)} floors:\n{lines(chain, imports)}"
    from_core = [line for (room, _), found in imports.items() if room == "core" for line in found]
    assert not from_core, "\n".join(["core must import nothing else of the package:", *from_core])


def test_no_function_has_more_than_seven_parameters():
    found = long_signatures(PACKAGE)
    assert not found, "\n".join(["these take a record instead:", *found])


def test_a_feature_that_came_later_has_its_files():
    files = (path for part in ("workflow", "tests", "rules") for path in (ROOT / part).rglob("*.*"))
    names = [path.relative_to(ROOT).as_posix() for path in files]
    for pattern in " ".join(NEWER.values()).split():
        assert fnmatch.filter(names, pattern), f"benchmarks/structure.py: no file is {pattern}"
    assert newer(PACKAGE / "core" / "jobs.py") == ""


def test_a_circle_is_named_with_its_modules(tmp_path: Path):
    package = tmp_path / "house"
    texts = {
        "__init__": "",
        "attic/__init__": "",
        "attic/roof": "if TYPE_CHECKING:\n    from house.hall import door\n",
        "hall/__init__": "",
        "hall/door": "def opened():\n    import house.cellar\n",
        "cellar": "from house.attic.roof import tiles\n",
    }
    for name, text in texts.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / f"{name}.py").write_text(text)
    assert rooms_of(package) == {"attic", "hall", "cellar"}
    found = imports_between(package)
    with pytest.raises(ValueError) as failure:
        longest_chain(found)
    for line in (
        "attic -> hall: house.attic.roof imports house.hall.door",
        "hall -> cellar: house.hall.door imports house.cellar",
        "cellar -> attic: house.cellar imports house.attic.roof",
    ):
        assert line in str(failure.value)
    del found["cellar", "attic"]
    assert longest_chain(found) == ["attic", "hall", "cellar"]
