"""Splits a run over several jobs.

Every job makes the whole plan. A shard asks its share and writes a `Part`: a file with a `Header`, an `AnswerRow` for each answer,
an `AccountRow` and a footer. The merge reads the last part of every shard as `ShardParts`, and runs the plan with their answers.
"""
