"""What failed last is asked again: these cases alone, by the options of the command line, and never as the whole gate."""

from support.scenes import scenes

test_a_scene = scenes(__file__)
