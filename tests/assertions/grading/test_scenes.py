"""The scenes of grading: sets, thresholds, and the examples of promptfoo's pages."""

from support.scenes import scenes

test_a_scene = scenes(__file__)
