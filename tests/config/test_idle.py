"""Keys that mean nothing are named in one note; what may be meant for a key that decides stays a mistake."""

from support.scenes import scenes

test_a_scene = scenes(__file__)
