"""The scenes of re-asking, from every YAML file in this folder."""

from support.scenes import scenes

test_a_scene = scenes(__file__)
