"""A sentence of two examples has one row of scores, and counts in each of them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from support.klob_scores import dense, row

from factdrift.klob.scoring.inputs import of_rows
from factdrift.klob.scoring.rsim import Results, approximate
from factdrift.klob.scoring.selection import locate


def test_the_mean_of_the_approximation_counts_a_shared_row_once_for_each_sentence() -> None:
    scores = dense((3, 0, 0, 0), (0, 4, 0, 0))
    selection = locate(scores, [Fraction(25)]).selections[0]
    assert selection.chosen == 1
    example = of_rows([row(0, "eee")], "c")
    found = approximate(Results(example, selection, np.array([0, 0, 1])), scores)
    # Twice (3, 0, 0, 0) and once (0, 4, 0, 0): the first unit is the best of the mean.
    assert found.population.tolist() == pytest.approx([2 / 3])
