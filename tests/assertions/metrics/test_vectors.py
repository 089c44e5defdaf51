import contextlib
import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gradegate.assertions.metrics.vectors import cosine, dot, euclidean
from gradegate.errors import ProviderError

NUMBERS = st.floats(-1e300, 1e300).filter(lambda x: x == 0 or abs(x) > 1e-300)
PAIRS = st.integers(1, 6).flatmap(lambda n: st.tuples(*[st.lists(NUMBERS, min_size=n, max_size=n)] * 2))


def test_known_values():
    assert cosine([1, 0], [0.6, 0.8]) == pytest.approx(0.6)
    assert cosine([2, 0], [-3, 0]) == -1
    assert dot([1, 2, 3], [4, -5, 6]) == 12
    assert euclidean([0, 3], [4, 0]) == 5


@pytest.mark.parametrize("measure", [cosine, dot, euclidean])
@pytest.mark.parametrize(
    ("one", "other"),
    [([1.0], [1.0, 2.0]), ([0.0, 0.0], [1.0, 0.0]), ([], []), ([math.nan], [1.0]), ([1.0], [math.inf]), ([1.0], [-math.inf])],
)
def test_what_cannot_be_compared(measure, one, other):
    for pair in ((one, other), (other, one)):
        with pytest.raises(ProviderError):
            measure(*pair)


@given(PAIRS)
def test_a_cosine_is_between_minus_one_and_one_and_the_same_both_ways(pair):
    one, other = pair
    assume(any(one) and any(other))
    found = cosine(one, other)
    assert -1 <= found <= 1
    assert found == pytest.approx(cosine(other, one))
    assert cosine(one, one) == pytest.approx(1)


@given(PAIRS)
def test_sums_that_overflow_are_errors_and_not_infinite(pair):
    for measure in (dot, euclidean):
        with contextlib.suppress(ProviderError):
            assert math.isfinite(measure(*pair))
