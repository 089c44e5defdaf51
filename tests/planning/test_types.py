"""What is said of types of assertions that there are no graders for."""

from gradegate.files.document import table
from gradegate.grading.grader import GRADERS
from gradegate.planning.types import folded, known

MEANT = table("planning", "types.yaml")


def test_what_is_named_is_there():
    assert set(MEANT) <= set(GRADERS.names())
    assert not {name for names in MEANT.values() for name in names.split()} & set(GRADERS.names())
    others = {folded(it.name) for it in known()}
    assert not [name for names in MEANT.values() for name in names.split() if folded(name) in others]
