"""Compares graders with people.

A `Label` says whether an output should pass an assertion. A `Selection` has the cases that labels are about. `calibrate_graders`
grades them and measures how often grader and people agree. `with_labels` adds labels to a plan, to notice a grader that drifts.
"""
