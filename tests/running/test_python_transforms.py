"""Transforms that are Python files, at each place where configs have one."""

from support.scenes import scenes

test_a_scene = scenes(__file__)
