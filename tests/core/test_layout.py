"""The layout of the package: few rooms, whose imports run one way (benchmarks/structure.py counts them)."""

import fnmatch
from pathlib import Path

import pytest
import structure
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


def test_no_function_has_more_than_seven_parameters(capsys: pytest.CaptureFixture[str]):
    structure.main()
    assert "functions with more than 7 parameters: 0" in capsys.readouterr().out, long_signatures(PACKAGE)


def test_a_feature_that_came_later_has_its_files():
    files = (path for part in ("workflow", "tests", "rules") for path in (ROOT / part).rglob("*.*"))
    names = [path.relative_to(ROOT).as_posix() for path in files]
    for pattern in " ".join(NEWER.values()).split():
        assert fnmatch.filter(names, pattern), f"benchmarks/structure.py: no file is {pattern}"
    assert newer(PACKAGE / "core" / "jobs.py") == ""
