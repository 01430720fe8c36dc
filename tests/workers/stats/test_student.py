"""Student's quantile against an independent implementation."""

import pytest
from scipy.special import stdtrit

from workers.stats.student import student_quantile


@pytest.mark.parametrize("degrees", [*range(1, 200), 333, 500, 998, 999, 1000, 1001, 4096, 10**5, 10**9, 10**12])
def test_it_is_what_another_library_says(degrees: int) -> None:
    assert student_quantile(degrees) == pytest.approx(float(stdtrit(degrees, 0.975)), rel=2e-13)
