"""Which model grades: the levels, the forms and the mistakes of promptfoo's `provider` settings."""

from support.scenes import scenes

test_a_scene = scenes(__file__)
