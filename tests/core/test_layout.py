"""The layout of the package: few rooms, whose imports run one way (benchmarks/structure.py counts them)."""

from pathlib import Path

import pytest
import structure

from factdrift.core.paths import PACKAGE

ROOMS = 24
FLOORS = 7
"""The longest chain of rooms that import each other, in rooms."""
CIRCLES = 0
GLUE_WORDS = 2_692
"""What there is today, at most: both numbers may only fall."""


@pytest.mark.parametrize("house", [PACKAGE, PACKAGE / "evaluation"], ids=lambda house: house.name)
def test_rooms_and_floors_are_few_and_no_rooms_import_each_other(house: Path):
    rooms = structure.rooms_of(house)
    assert len(rooms) <= ROOMS, f"{len(rooms)} rooms: {', '.join(sorted(rooms))}; fold one into another"
    imports = structure.imports_between(house)
    chain = structure.longest_chain(imports)
    assert len(chain) <= FLOORS, f"{len(chain)} floors:\n{structure.lines(chain, imports)}"
    from_core = [line for (room, _), found in imports.items() if room == "core" for line in found]
    assert not from_core, "\n".join(["core must import nothing else of the package:", *from_core])


def test_no_function_has_more_than_seven_parameters_or_is_longer_than_a_screen():
    assert structure.long_signatures(PACKAGE) == structure.long_functions(PACKAGE) == []


@pytest.mark.slow
def test_the_numbers_of_the_structure_are_printed(capsys: pytest.CaptureFixture[str]):
    structure.main()
    assert "functions with more than 7 parameters: 0" in capsys.readouterr().out


def test_circles_of_files_and_words_that_name_nothing_only_become_fewer():
    circles = structure.circles(PACKAGE)
    assert len(circles) <= CIRCLES, circles
    assert structure.glue_words(PACKAGE).total() <= GLUE_WORDS
