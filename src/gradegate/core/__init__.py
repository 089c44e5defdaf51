"""What a user asked for: options, configs, rules, and the words of a conversation. Values without input or output.

A suite is one config file as data. It contains cases with their assertions, providers, and a policy. A policy contains
rules, and each limit of a rule is a field of ``Rule``. Settings are the options of a run, one field each. A transcript is
the conversation that a grader sees, made of turns. Usage is what calls took: tokens, dollars and seconds.

The functions parse what a user writes (``parse_graders``), explain a refused value (``explain_invalid``), write numbers as
people read them (``format_percent``) and compare a score with a threshold (``meets``).
"""
