"""The scenes of running: of each subject, the YAML that has its name."""

from support.scenes import scenes

test_a_scene = scenes(__file__)
