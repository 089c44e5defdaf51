"""Datasets as deepeval 4.3 saves them, as configs and as tests of a config."""

from support.scenes import scenes

test_a_scene = scenes(__file__)
