"""An answer that was cut at its token limit is graded, and every report says so."""

from support.scenes import scenes

test_a_scene = scenes(__file__)
