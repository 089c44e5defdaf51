"""Decides: takes a result and a policy, returns a decision and an exit code. Pure functions of values.

``decide`` applies each rule (``apply_rule``, then its limits against earlier runs in ``apply_base_limits``), weighs the
errors, and concludes with an outcome and its reason. ``blocking_rows`` says which failures are that reason. A case with
several runs is folded into one row for each rule (``fold_runs``).

``reasks/`` collects the asks of a grade in a ballot, says when they are enough (a lead rule or a history rule), and which
grades the rules still need (``RuleNeeds``). ``changes/`` compares the plan of the pull request with that of its base.
``statistics`` has the formulas, with their papers.
"""
