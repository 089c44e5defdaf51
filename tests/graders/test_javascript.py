"""Verdicts by JavaScript of the config, with what the code is told and what of it is said."""

from support.scenes import scenes

test_a_scene = scenes(__file__)
