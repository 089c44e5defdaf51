"""What the log and the page say of a run that went wrong is what happened."""

from support.scenes import scenes

test_a_scene = scenes(__file__)
