"""Code of the repository decides."""

from support.scenes import scenes

test_a_scene = scenes(__file__)
