"""What reports show: views of a run and its cases, and the words for them. Nothing here knows a format.

A *finding* is a row with its *effect* on the check: blocks, error, failed once, known, advises, or none. Every report lists a case
under its effect. A *case view* is all about one case: the exchange that a failure is about, and each assertion with the words that
differ (``differences``) and the claims of its grader (``claims``). ``wording`` has the words for outcomes, cases, assertions and
rules, and ``run_summary`` those for the run as a whole. Templates know the modules ``case``, ``wording`` and ``run_summary`` as
``cases``, ``words`` and ``summary``.
"""
