"""What a run leaves undone is never a pass, and never a failure that the whole run would not have."""

from support.scenes import scenes

test_a_scene = scenes(__file__)
