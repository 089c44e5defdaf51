"""Prompts, tests and variables that code of the repository makes."""

from support.scenes import scenes

test_a_scene = scenes(__file__)
