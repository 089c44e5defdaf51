"""What targets are asked: variables, prompt files and ids, as promptfoo has them."""

from support.scenes import scenes

test_a_scene = scenes(__file__)
