"""What is said of types of assertions that there are no graders for."""

from gradegate.grading.grader import GRADERS
from gradegate.planning.types import _MEANT, folded, known
from support.scenes import scenes

test_a_scene = scenes(__file__)


def test_what_is_named_is_there():
    assert set(_MEANT) <= set(GRADERS.names())
    assert not {name for names in _MEANT.values() for name in names.split()} & set(GRADERS.names())
    others = {folded(it.name) for it in known()}
    assert not [name for names in _MEANT.values() for name in names.split() if folded(name) in others]
