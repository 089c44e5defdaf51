"""Answers that tests store for the tests after them."""

from support.scenes import scenes

test_a_scene = scenes(__file__)
