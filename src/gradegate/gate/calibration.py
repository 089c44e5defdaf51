"""Measures how often a grader agrees with labels that people gave, and how often it changes its mind. Pure."""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

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

MIN_LABELS = 30  # labels "pass" or "fail": with fewer, reports mark the figures as unreliable
MIN_FLIP_VOTES = 60  # with fewer, no `noise` is suggested
MIN_ASKS = 3  # of one output: with fewer, a flip cannot be told from a tie
NOISE_LIMITS = (0.01, 0.25)  # the lowest and highest `noise` that a config may set
_MIN_REASKED = 3  # outputs: the replies to fewer may be alike by chance


class Share(FrozenStruct):
    """A share: ``hits`` of ``count``."""

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
    def has_passed_overall(self) -> bool:
        """Whether more than half of all asks passed. An ask without a verdict counts against it: one pass in three asks is not enough."""
        passes, _ = self.votes
        return 2 * passes > len(self.rows)

    @property
    def contradicts_label(self) -> bool:
        """Whether the first ask contradicts the label."""
        return not self.first.has_error and self.first.has_passed != self.passes


@dataclass(frozen=True)
class Agreement:
    """The figures of one assertion, or of all assertions together."""

    table: CrossTable  # labels and first asks
    errors: int  # outputs without a verdict at the first ask
    flips: Flips
    assertion: str = ""  # the type; empty for all assertions
    metric: str = ""

    @classmethod
    def from_outputs(
        cls, outputs: Sequence[JudgedOutput], assertion: str = "", metric: str = ""
    ) -> Self:
        """Compare the first ask of each output with its label, and count the flips of repeated asks."""
        counts = Counter((judged.passes, judged.first.outcome) for judged in outputs)
        table = CrossTable(
            pp=counts[True, PASS],
            pf=counts[True, FAIL],
            fp=counts[False, PASS],
            ff=counts[False, FAIL],
        )

        # Code always says the same, and would hide how often a model does not.
        votes = [
            judged.votes for judged in outputs if judged.asks_model and judged.has_passed_overall
        ]
        return cls(
            table=table,
            errors=counts[True, ERROR] + counts[False, ERROR],
            flips=count_flips(votes),
            assertion=assertion,
            metric=metric,
        )

    @property
    def agreement(self) -> Share:
        """How often the grader and people say the same."""
        return Share(self.table.pp + self.table.ff, sum(self.table))

    @property
    def tpr(self) -> Share:
        """The true positive rate: the share of what people pass that the grader passes, too."""
        return Share(self.table.pp, self.table.pp + self.table.pf)

    @property
    def tnr(self) -> Share:
        """The true negative rate: the share of what people fail that the grader fails, too."""
        return Share(self.table.ff, self.table.fp + self.table.ff)

    @cached_property
    def kappa(self) -> Kappa | None:
        """Cohen's kappa: the agreement beyond chance. None if it is not defined."""
        return cohen_kappa(self.table)

    @property
    def too_few(self) -> tuple[str, ...]:
        """The labels, "pass" or "fail", of which there are too few to rely on."""
        shares = {"pass": self.tpr, "fail": self.tnr}
        return tuple(label for label, share in shares.items() if share.count < MIN_LABELS)

    def correct_pass_rate(self, pass_rate: float) -> float | None:
        """The share of good answers, from a pass rate that this grader measured. None if too little is known of the grader."""
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
        """The figures of all labels together."""
        return Agreement.from_outputs(self.judged)

    @cached_property
    def assertions(self) -> tuple[Agreement, ...]:
        """The figures of each assertion, by type and metric, in the order of the labels."""
        groups = defaultdict(list)
        for judged in self.judged:
            assertion = judged.first.assertion
            groups[assertion.type, assertion.metric].append(judged)
        return tuple(
            Agreement.from_outputs(outputs, assertion, metric)
            for (assertion, metric), outputs in groups.items()
        )

    @property
    def noise(self) -> float | None:
        """The ``noise`` to write into the config. None if there are too few asks to tell."""
        if self.asks < MIN_ASKS or self.overall.flips.votes < MIN_FLIP_VOTES:
            return None
        least, most = NOISE_LIMITS
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
        return reasked >= _MIN_REASKED
