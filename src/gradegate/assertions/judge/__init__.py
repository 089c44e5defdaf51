"""Asks grading models and reads their replies. Only a reply that is a verdict from start to end is read as a verdict.

A ``Judge`` has the grading models of one assertion. ``Judge.ask`` fills in a prompt, sends the request, and reads the reply.
A ``Rubric`` has the prompts of the user, which replace the prompts in ``prompts/``.

A ``Form`` declares which replies to a question are verdicts: a JSON object with a schema, a last line such as ``Answer: C``
(``LastLine``), or a reply in which every line counts (``lines``). ``verdict_forms`` makes the forms that several evaluators
need. ``read_reply`` finds the object that a reply has or stands for, and the form makes a value of that object, often a
``Judgement``. ``peeling`` takes away what is around a whole reply, such as reasoning or a fence. ``prose`` looks at the signs
of the text before a verdict: whether the text ends, and what wraps it.

A reply in no form raises Unreadable. The judge then asks again, and raises NoVerdict if that does not help.
"""
