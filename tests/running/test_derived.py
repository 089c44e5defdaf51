"""Derived metrics through the command: what they are over, what they see of one another, and that they decide nothing."""

from support.scenes import scenes

test_a_scene = scenes(__file__)
