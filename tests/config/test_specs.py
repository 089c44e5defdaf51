"""The forms in which configs write providers, as promptfoo's do."""

from support.scenes import scenes

test_a_scene = scenes(__file__)
