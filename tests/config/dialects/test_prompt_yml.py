"""``.prompt.yml`` files of GitHub Models: what is asked, and what each evaluator comes to."""

from support.scenes import scenes

test_a_scene = scenes(__file__)
