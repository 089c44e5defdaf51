"""Measures how a grader agrees with people, and how often it changes its mind. Pure."""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from gradegate.errors import Origin
from gradegate.gate.statistics import (
    CrossTable,
    Flips,
    Interval,
    Kappa,
    cohen_kappa,
    corrected_pass_rate,
    count_flips,
    upper_bound,
    wilson_interval,
)
from gradegate.results.grades import ERROR, FAIL, PASS, Grade
from gradegate.results.rows import Row
from gradegate.results.run_result import RunResult
from gradegate.structs import FrozenStruct

FEW = 30  # labels of a kind, below which its figures are marked
VOTES = 60  # from which `noise` is suggested
ASKS = 3  # of one output, from which a flip can be told from a tie
NOISE = (0.01, 0.25)  # what the gate takes


class Share(FrozenStruct):
    """``hits`` of ``count``."""

    hits: int
    count: int

    @property
    def value(self) -> float | None:
        """The share from 0 to 1. None if nothing was counted."""
        return self.hits / self.count if self.count else None

    @property
    def interval(self) -> Interval | None:
        """The 95 % interval, by Wilson."""
        return wilson_interval(self.hits, self.count)


class JudgedOutput(FrozenStruct):
    """A labelled output with what the grader said about it: a row for each ask, in order."""

    passes: bool  # by the label
    origin: Origin
    rows: tuple[Row, ...]
    asks_model: bool = True  # a text model grades, so asking again may give another answer

    @property
    def grades(self) -> tuple[Grade, ...]:
        """The grade of each ask."""
        return tuple(row.grades[0] for row in self.rows)

    @property
    def first(self) -> Grade:
        """The grade of the first ask, which is compared with the label."""
        return self.rows[0].grades[0]

    @property
    def votes(self) -> tuple[int, int]:
        """How many asks passed and how many failed. An ERROR is no vote."""
        outcomes = [grade.outcome for grade in self.grades]
        return outcomes.count(PASS), outcomes.count(FAIL)

    @property
    def contradicts_label(self) -> bool:
        """Whether the first ask contradicts the label."""
        return not self.first.has_error and self.first.has_passed != self.passes


@dataclass(frozen=True)
class Agreement:
    """The figures of one assertion, or of all. ``errors`` counts the outputs without a verdict at the first ask."""

    table: CrossTable
    errors: int
    flips: Flips
    assertion: str = ""  # the type; empty for all
    metric: str = ""

    @property
    def agreement(self) -> Share:
        """How often the grader and people say the same."""
        return Share(self.table.pp + self.table.ff, sum(self.table))

    @property
    def tpr(self) -> Share:
        """The share of what people pass that the grader passes."""
        return Share(self.table.pp, self.table.pp + self.table.pf)

    @property
    def tnr(self) -> Share:
        """The share of what people fail that the grader fails."""
        return Share(self.table.ff, self.table.fp + self.table.ff)

    @cached_property
    def kappa(self) -> Kappa | None:
        """Agreement beyond chance."""
        return cohen_kappa(self.table)

    @property
    def too_few(self) -> tuple[str, ...]:
        """The labels, "pass" or "fail", of which there are too few to rely on."""
        shares = {"pass": self.tpr, "fail": self.tnr}
        return tuple(label for label, share in shares.items() if share.count < FEW)

    def correct_pass_rate(self, pass_rate: float) -> float | None:
        """The share of good answers behind a pass rate that this grader measured. None if that is not known."""
        tpr = self.tpr.value
        tnr = self.tnr.value
        if tpr is None or tnr is None:
            return None
        return corrected_pass_rate(pass_rate, tpr, tnr)


@dataclass(frozen=True)
class Calibration:
    """What a calibration found. ``asks`` is how often each labelled output is graded."""

    judged: tuple[JudgedOutput, ...]
    asks: int
    run: RunResult

    @cached_property
    def overall(self) -> Agreement:
        """All labels together."""
        return _agreement(self.judged)

    @cached_property
    def assertions(self) -> tuple[Agreement, ...]:
        """Each assertion, by type and metric, in the order of the labels."""
        groups = defaultdict(list)
        for judged in self.judged:
            assertion = judged.first.assertion
            groups[assertion.type, assertion.metric].append(judged)
        return tuple(_agreement(outputs, *names) for names, outputs in groups.items())

    @property
    def noise(self) -> float | None:
        """The ``noise`` to write into the config. None if there are too few asks to tell."""
        if self.asks < ASKS or self.overall.flips.votes < VOTES:
            return None
        least, most = NOISE
        rounded_up = math.ceil(round(self.noise_bound * 100, 6)) / 100
        return min(most, max(least, rounded_up))

    @property
    def noise_bound(self) -> float:
        """The upper bound of the share of minority votes: one-sided, 95 %."""
        return upper_bound(*self.overall.flips)

    @property
    def is_unmoved(self) -> bool:
        """Whether no re-ask changed anything, not even a reason. Replies of a cache or at temperature 0 are like that."""
        reasked = 0
        for judged in self.judged:
            if not judged.asks_model or len(judged.rows) < 2:
                continue
            reasked += 1
            replies = {(grade.outcome, grade.score, grade.reason) for grade in judged.grades}
            if len(replies) > 1:
                return False
        return reasked >= ASKS


def _agreement(outputs: Sequence[JudgedOutput], assertion: str = "", metric: str = "") -> Agreement:
    pairs = [(judged.passes, judged.first.outcome) for judged in outputs]
    table = CrossTable(
        pp=pairs.count((True, PASS)),
        pf=pairs.count((True, FAIL)),
        fp=pairs.count((False, PASS)),
        ff=pairs.count((False, FAIL)),
    )
    errors = sum(outcome is ERROR for _, outcome in pairs)

    # Code always says the same, and would hide how often a model does not. An ask without a verdict counts against a
    # majority: one pass beside two such asks is none.
    votes = []
    for judged in outputs:
        passes, _ = judged.votes
        if judged.asks_model and 2 * passes > len(judged.rows):
            votes.append(judged.votes)
    return Agreement(table, errors, count_flips(votes), assertion, metric)
