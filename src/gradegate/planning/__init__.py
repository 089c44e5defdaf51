"""Turns suites into a plan, and checks the whole plan before the first paid call.

A *plan* has *jobs*: one question to one target, with the assertions about its answers. ``planner`` selects the cases of a
suite, expands their variables, chooses who answers them (``pairs``) and binds names to plug-ins (``binding/``). ``checks/``
look at the finished plan and yield every mistake. ``size`` adds up the plan while it grows.

``identity`` defines keys and digests by which answers and grades are found again in another run. ``snapshot`` reduces a
plan to digests, ``counterparts`` and ``base_checkout`` pair it with the base, ``recorded_answers`` assigns answers made
elsewhere, and ``command`` is the command that repeats the run.
"""
