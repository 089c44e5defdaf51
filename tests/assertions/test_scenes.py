"""The scenes of graders: of each, the YAML that has its name."""

from support.scenes import scenes

test_a_scene = scenes(__file__)
