"""Re-asks failing grades in waves, so that noise nearly never blocks.

`EligibleGrades` are the grades that may be re-asked, and `Histories` have their earlier votes. The `AnswerLedger` has all answers
and concludes them again when votes change a grade. A `ReaskTask` asks for grades of one answer, and a `BallotBox` collects the
votes. `BaseRegrade` grades answers of the base again. The scheduler asks wave after wave, as long as a rule needs one.
"""
