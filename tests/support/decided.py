"""Answers with their grades, written in few signs, and what a gate decides on them.

Each word of `made` is an answer: `P`, `F` or `E` for each of its grades, `.` for none, `!` where no answer came. Behind a grade stand its
score (`=0.9`), its votes in brackets, its metric (`@a`) and marks: `-` advises, `0` has no weight, `s` is a set, `i` a member of one, `u`
undone, `h` unheard, `w` withheld. `*9` behind a word makes nine of it.
"""

import re

from gradegate.core.policy import Policy, Rule
from gradegate.gate.decision import decide
from gradegate.results.case_outcome import conclude_case
from gradegate.results.gate_changes import NO_CHANGES
from gradegate.results.grades import Grade, GradedAssertion, Outcome, Vote
from gradegate.results.rows import Row
from gradegate.results.run_result import RunResult
from gradegate.structs import field_names

P, F, E = Outcome.PASS, Outcome.FAIL, Outcome.ERROR
OUTCOMES = {"P": P, "F": F, "E": E}
EVERY = Rule("every case passes", every_case=True, suite="s")
MARKS = {"-": {"blocking": False}, "0": {"weight": 0}, "s": {"is_set": True}}
MARKS |= {sign: {name: True} for sign, name in (("i", "inner"), ("u", "undone"), ("h", "unheard"), ("w", "withheld"))}
GRADE = re.compile(r"([PFE!])(?:=([\d.]+))?(?:\((\w+)\))?(?:@(\w))?([-0siuhw]*)")


def grade(outcome, score=None, type="contains", **own):  # noqa: A002
    asserted = {name: own.pop(name) for name in field_names(GradedAssertion) if name in own}
    return Grade(GradedAssertion(type, **asserted), outcome, {P: 1.0, F: 0.0, E: None}[outcome] if score is None else score, **own)


def row(*grades, **more):
    outcome, score, _ = conclude_case(grades, None)
    fields = {"description": "", "provider": "p", "prompt_label": "", "prompt": "", "vars": {}, "outcome": outcome}
    return Row(suite="s", grades=grades, score=score, **{**fields, **more})


def make_rows(text, **more):
    rows = []
    for word in text.split():
        signs, _, times = word.partition("*")
        grades, keys = [], more
        for sign, score, votes, metric, marks in GRADE.findall(signs):
            own = {key: value for mark in marks for key, value in MARKS[mark].items()}
            if sign == "!":
                keys = {"error": "down", "outcome": E, **own, **more}
                continue
            own |= {"metric": metric, "votes": tuple(Vote(OUTCOMES[vote]) for vote in votes)}
            grades.append(grade(OUTCOMES[sign], float(score) if score else None, **own))
        rows += [row(*grades, **keys)] * int(times or 1)
    return rows


def decide_rows(rows, *rules, errors="inconclusive", up_to=0.0, changes=NO_CHANGES, **run):
    rows = make_rows(rows) if isinstance(rows, str) else rows
    return decide(RunResult(tuple(rows), **run), [Policy(tuple(rules) or (EVERY,), errors, up_to)], changes)


def apply_one_rule(rows, name="r", /, **keys):
    """What one rule makes of the answers."""
    return decide_rows(rows, Rule(name, suite="s", **keys)).rules[0]
