import pytest

from gradegate.processes.evaluate import Exceeded
from gradegate.texts import patterns


def test_patterns_find_part_and_remove():
    assert patterns.search(r"\d+", "a12")
    assert not patterns.search(r"\d+", "a")
    assert patterns.split("(b)|c", "abaca") == ["a", "b", "a", None, "a"]
    assert patterns.without("[ab]", "cab") == "c"
    assert patterns.found_in("^a", ["ab", "ba", ""]) == [True, False, False]


@pytest.mark.parametrize("pattern", ["(", "[", "a{1,99999999999999999999}", "(?P<a", "a" * 30_000, "(" * 3000 + ")" * 3000])
def test_what_is_no_pattern_is_refused(pattern):
    with pytest.raises(ValueError, match=r"expression|cannot be used|characters"):
        patterns.check(pattern)


def test_a_pattern_that_backtracks_is_stopped():
    with pytest.raises(Exceeded, match="takes more than 2 seconds"):
        patterns.search("^(a|aa)+$", "a" * 100 + "b")
