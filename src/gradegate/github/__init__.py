"""The Action: runs gradegate as a step of a GitHub workflow and publishes the decision.

A *step* is one start of the Action: its settings from the inputs, the event, the environment and the REST client. ``action`` runs
it. ``publish`` writes the log, the job summary, the outputs and the *comment*, which a *stamp* in its first line identifies. The
*gate key* tells the comments and artifacts of several gates apart. Three questions go to GitHub first: did a person *approve* a
weaker gate with a label, which *changed files* does the pull request have, and what did a run of the default branch leave as an
*artifact*. An *input* has a name and a text; ``inputs`` turns all of them into settings.
"""
