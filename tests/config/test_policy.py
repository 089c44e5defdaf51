"""The gate block of a config: which rules it comes to, and what is said about a rule that decides nothing."""

from support.scenes import scenes

test_a_scene = scenes(__file__)
