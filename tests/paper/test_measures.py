"""What is measured of one loss curve, against numbers that can be checked by hand."""

import numpy as np
import pytest

from paper import measures


def test_area_is_the_mean_height() -> None:
    assert measures.area(np.array([1.0, 3.0, 4.0]), np.array([2.0, 4.0, 0.0])) == pytest.approx(8 / 3)
    assert measures.area(np.array([1.0]), np.array([7.0])) == 7.0


def test_oscillation_is_zero_for_what_only_falls() -> None:
    assert measures.oscillation(np.array([9.0, 5.0, 4.0, 3.0, 2.0, 1.0])) == 0.0
    # second half 1, 2, 1, 2: variation 3, net change 1, three steps, height 1.5
    assert measures.oscillation(np.array([9, 9, 9, 9, 1.0, 2, 1, 2])) == pytest.approx(2 / 3 / 1.5)


def test_a_run_settles_below_a_tenth_above_its_lowest_loss() -> None:
    assert measures.settled(0, 1.1, 1.0)
    assert not measures.settled(0, 1.11, 1.0)
    assert not measures.settled(3, 1.0, 1.0)


def test_the_tail_is_the_last_tenth() -> None:
    assert measures.tail(np.arange(30.0)).tolist() == [27.0, 28.0, 29.0]
    assert measures.tail(np.arange(3.0)).tolist() == [2.0]
