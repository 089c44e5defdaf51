"""The contract of an evaluator, and the way from its verdict to a grade.

An evaluator is the code of an assertion type. Planning binds each assertion of a config to its evaluator, its graders and its
prompts: a bound assertion. Several of them that count as one are a bound set. A verdict is what an evaluator found; a grade is
the final word on a bound assertion, after threshold, ``not-`` and weight.
"""
