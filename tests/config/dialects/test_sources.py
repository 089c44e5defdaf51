"""Where a promptfoo config has its tests, variables, prompts and assertions from, beside the common ways."""

from support.scenes import scenes

test_a_scene = scenes(__file__)
