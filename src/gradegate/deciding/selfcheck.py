"""Holds what asking again came to against what it rests on. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from gradegate.deciding.chances import tail
from gradegate.values.account import ConfirmReport
from gradegate.values.figures import many, percent
from gradegate.values.result import Grade

_LIKELY = 0.01  # with a noise that is true, more are overturned in one run of a hundred
_FEW = 3  # grades asked again, that may be alike by chance


def doubts(report: ConfirmReport, asked: Sequence[Grade], held: bool) -> list[str]:
    """What a user should know: sentences. ``asked`` are the grades that were asked again; ``held``: 1 % is."""
    said = []
    if report.grades and not held:
        said.append(
            f"asking {many(report.grades, 'grade')} again up to a lead of {report.lead} does not hold wrong blocks to 1 %: "
            f"lower `noise` ({report.noise:g}) or grade less"
        )
    if noisier(report.overturned, report.grades, report.noise):
        said.append(
            f"the grader changed its mind on {report.overturned:,} of {report.grades:,}: more than `noise` allows "
            f"({percent(report.noise)}); measure it with `gradegate calibrate`"
        )
    if len(asked) >= _FEW and all(len({(vote.outcome, vote.score, vote.reason) for vote in grade.votes}) == 1 for grade in asked):
        said.append("asking again changes nothing (temperature 0, a cache): name `second-opinions`")
    return said


def noisier(overturned: int, grades: int, noise: float) -> bool:
    """Whether so many overturned grades are too many for a grader with that noise."""
    return overturned > 0 and tail(overturned, grades, noise) < _LIKELY
