"""Of several outputs the one with the best scores of the other assertions wins."""

from support.scenes import scenes

test_a_scene = scenes(__file__)
