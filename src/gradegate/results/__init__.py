"""What came out of this run or an earlier one, and the files that keep it.

A verdict is what a grader found, a grade is the final word on one assertion of one answer, and a row is one answer with its
grades. Several runs of a case are several rows. A decision contains the run, the result of each rule, and the outcome.
A baseline is the run of the base, a history the votes of earlier runs. The status of a grade says how it compares with its
counterpart on the base: new, known, fixed, unsteady or undecided.

``conclude_case`` turns grades into the outcome of a case, ``case_status`` and ``grade_status`` compare with the base,
``load_decision`` and ``load_baseline`` read ``results.json``. A field of these structs is a key of that file.
"""
