"""How a grader agrees with people, and how often it changes its mind. Pure."""

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
        """None where nothing was counted."""
        return self.hits / self.count if self.count else None

    @property
    def interval(self) -> Interval | None:
        """95 %, by Wilson."""
        return wilson_interval(self.hits, self.count)


class JudgedOutput(FrozenStruct):
    """A labelled output with what the grader said of it, a row for each ask in order."""

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
        """The grade of the first ask, which is held against the label."""
        return self.rows[0].grades[0]

    @property
    def votes(self) -> tuple[int, int]:
        """How many asks passed and failed; an ERROR is no vote."""
        outcomes = [grade.outcome for grade in self.grades]
        return outcomes.count(PASS), outcomes.count(FAIL)

    @property
    def differs(self) -> bool:
        """Whether the first ask says otherwise than the label."""
        return not self.first.has_error and self.first.has_passed != self.passes


@dataclass(frozen=True)
class Agreement:
    """The figures of one assertion, or of all; ``errors`` are outputs whose first ask gave no verdict."""

    table: CrossTable
    errors: int
    flips: Flips
    assertion: str = ""  # the type; empty for all
    metric: str = ""

    @property
    def agreement(self) -> Share:
        """How often grader and people say the same."""
        return Share(self.table.pp + self.table.ff, sum(self.table))

    @property
    def tpr(self) -> Share:
        """How much of what people pass the grader passes."""
        return Share(self.table.pp, self.table.pp + self.table.pf)

    @property
    def tnr(self) -> Share:
        """How much of what people fail the grader fails."""
        return Share(self.table.ff, self.table.fp + self.table.ff)

    @cached_property
    def kappa(self) -> Kappa | None:
        """Agreement beyond chance."""
        return cohen_kappa(self.table)

    @property
    def too_few(self) -> tuple[str, ...]:
        """The labels, "pass" or "fail", of which there are too few to lean on."""
        return tuple(
            name for name, share in (("pass", self.tpr), ("fail", self.tnr)) if share.count < FEW
        )

    def corrected(self, pass_rate: float) -> float | None:
        """The share of good answers behind a pass rate that this grader measured; None where it cannot be told."""
        tpr, tnr = self.tpr.value, self.tnr.value
        return None if tpr is None or tnr is None else corrected_pass_rate(pass_rate, tpr, tnr)


@dataclass(frozen=True)
class Calibration:
    """What came of labelled outputs; ``asks`` is how often each was to be graded."""

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
        for it in self.judged:
            groups[it.first.assertion.type, it.first.metric].append(it)
        return tuple(_agreement(several, *names) for names, several in groups.items())

    @property
    def noise(self) -> float | None:
        """The ``noise`` to write into the config; None where too few asks tell."""
        if self.asks < ASKS or self.overall.flips.votes < VOTES:
            return None
        return min(NOISE[1], max(NOISE[0], math.ceil(round(self.noise_bound * 100, 6)) / 100))

    @property
    def noise_bound(self) -> float:
        """The upper bound of the share of minority votes: one-sided, 95 %."""
        return upper_bound(*self.overall.flips)

    @property
    def unmoved(self) -> bool:
        """Whether asking again changed nothing anywhere, not even a reason: a cache or temperature 0 answers so."""
        asked = [it.grades for it in self.judged if it.asks_model and len(it.grades) > 1]
        return len(asked) >= ASKS and all(
            len({(g.outcome, g.score, g.reason) for g in grades}) == 1 for grades in asked
        )


def _agreement(judged: Sequence[JudgedOutput], assertion: str = "", metric: str = "") -> Agreement:
    pairs = [(it.passes, it.first.outcome) for it in judged]
    cells = (pairs.count((passes, outcome)) for passes in (True, False) for outcome in (PASS, FAIL))
    errors = sum(outcome is ERROR for _, outcome in pairs)
    # What no model grades cannot change, and would hide what does. An ask without a verdict is no vote, and none to pass
    # either: one pass beside two of them shows no majority.
    changing = count_flips(
        it.votes for it in judged if it.asks_model and 2 * it.votes[0] > len(it.rows)
    )
    return Agreement(CrossTable(*cells), errors, changing, assertion, metric)
