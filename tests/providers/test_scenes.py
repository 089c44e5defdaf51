"""Scenes of vendors, played through the command: those in the YAML of this folder."""

from support.scenes import scenes

test_a_scene = scenes(__file__)
