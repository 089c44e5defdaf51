"""Assertion types: one file for each type, or for a family of types that share a formula.

An evaluator is the code of an assertion type. It takes a transcript and gives a verdict. An evaluator that needs a model asks
a grader through a judge; it never reads a reply itself.

``grading/`` has the contract of evaluators, binds them to assertions, and turns verdicts into grades. ``judge/`` fills in
grading prompts, asks graders, and reads their replies. ``metrics/`` has what several evaluators share.
"""
