"""Runs a plan and turns it into a result.

A `Session` leads from the context to a `Delivery`. Its `Preparation` has the plan and what the plan is compared with. A `Run` asks
targets and graders in the threads of an `Asker`: `FirstAnswers` gives each `Answer` with its row, and `Rounds` say which answers
are asked next. `Reasks` re-ask failing grades until the rules are settled. Then `conclude_run` counts, with a `RunRecord` of what
the run took. `Estimate` and the powers of rules tell before a run what it takes and what it can notice.

`reasks/` re-asks failures, `shards/` splits a run over jobs and merges it, `calibration/` compares graders with labels.
"""
