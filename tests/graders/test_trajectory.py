"""Which tools an answer called, over calls of chat APIs and of recorded answers."""

from support.scenes import scenes

test_a_scene = scenes(__file__)
