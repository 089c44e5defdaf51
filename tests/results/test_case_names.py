"""A case has one name, whoever speaks of it."""

from support.scenes import scenes

test_a_scene = scenes(__file__)
