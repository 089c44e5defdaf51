"""The share of an expected answer that the context holds."""

from support.scenes import scenes

test_a_scene = scenes(__file__)
