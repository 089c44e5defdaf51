"""How a grader agrees with people, how often it changes its mind, and whether it has moved since. Pure."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import comb

from gradegate.core.numbers import exact, figure, many
from gradegate.errors import Origin
from gradegate.gate.statistics import (
    Crossed,
    Flips,
    Interval,
    Kappa,
    corrected,
    flips,
    kappa,
    upper_bound,
    wilson,
)
from gradegate.results.accounts import GraderCheck, SentinelAsk, SentinelReport
from gradegate.results.case_outcome import conclude_case
from gradegate.results.grades import Grade, Outcome
from gradegate.results.rows import Row, parts, takes
from gradegate.results.run_result import RuleResult, RunResult
from gradegate.structs import Struct, replace

FEW = 30  # labels of a kind, below which its figures are marked
VOTES = 60  # from which `noise` is suggested
ASKS = 3  # of one output, from which a flip can be told from a tie
NOISE = (0.01, 0.25)  # what the gate takes
LEAST = 5  # verdicts of a grader, below which nothing is tested
_MOVED = Fraction(1, 100)
_UNDONE = (
    "the run ended before its sentinels were graded, so a grader that moved would not be noticed"
)


class Share(Struct, frozen=True):
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
        return wilson(self.hits, self.count)


class Judged(Struct, frozen=True):
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
        return outcomes.count(Outcome.PASS), outcomes.count(Outcome.FAIL)

    @property
    def differs(self) -> bool:
        """Whether the first ask says otherwise than the label."""
        return (
            self.first.outcome is not Outcome.ERROR
            and (self.first.outcome is Outcome.PASS) != self.passes
        )


@dataclass(frozen=True)
class Agreement:
    """The figures of one assertion, or of all; ``errors`` are outputs whose first ask gave no verdict."""

    table: Crossed
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
        return kappa(self.table)

    @property
    def too_few(self) -> tuple[str, ...]:
        """The labels, "pass" or "fail", of which there are too few to lean on."""
        return tuple(
            name for name, share in (("pass", self.tpr), ("fail", self.tnr)) if share.count < FEW
        )

    def corrected(self, pass_rate: float) -> float | None:
        """The share of good answers behind a pass rate that this grader measured; None where it cannot be told."""
        tpr, tnr = self.tpr.value, self.tnr.value
        return None if tpr is None or tnr is None else corrected(pass_rate, tpr, tnr)


@dataclass(frozen=True)
class Calibration:
    """What came of labelled outputs; ``asks`` is how often each was to be graded."""

    judged: tuple[Judged, ...]
    asks: int
    run: RunResult

    @cached_property
    def overall(self) -> Agreement:
        """All labels together."""
        return _agreement(self.judged)

    @cached_property
    def assertions(self) -> tuple[Agreement, ...]:
        """Each assertion, by type and metric, in the order of the labels."""
        groups: dict[tuple[str, str], list[Judged]] = {}
        for it in self.judged:
            groups.setdefault((it.first.assertion.type, it.first.metric), []).append(it)
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


def _agreement(judged: Sequence[Judged], assertion: str = "", metric: str = "") -> Agreement:
    pairs = [(it.passes, it.first.outcome) for it in judged]
    cells = (
        pairs.count((passes, outcome))
        for passes in (True, False)
        for outcome in (Outcome.PASS, Outcome.FAIL)
    )
    errors = sum(outcome is Outcome.ERROR for _, outcome in pairs)
    # What no model grades cannot change, and would hide what does. An ask without a verdict is no vote, and none to pass
    # either: one pass beside two of them shows no majority.
    changing = flips(it.votes for it in judged if it.asks_model and 2 * it.votes[0] > len(it.rows))
    return Agreement(Crossed(*cells), errors, changing, assertion, metric)


# --- sentinels: whether a grader has moved --------------------------------------------------------------------


def report(asks: Sequence[SentinelAsk], agreement: float) -> SentinelReport | None:
    """All graders that were asked, each by its own verdicts, None where none was; ``p`` is that of the least likely one."""
    if not asks:
        return None
    held = min(
        0.99, max(0.5, agreement)
    )  # nobody agrees always, and a grader that does not better than a coin shows nothing
    share = exact(held)
    graders = []
    for model in dict.fromkeys(ask.model for ask in asks if ask.passed is not None):
        pairs = [
            (ask.passed, ask.label) for ask in asks if ask.model == model and ask.passed is not None
        ]
        count, agree = len(pairs), sum(passed is label for passed, label in pairs)
        # The chance that a grader which has not moved agrees with so few.
        terms = (
            comb(count, hits) * share**hits * (1 - share) ** (count - hits)
            for hits in range(agree + 1)
        )
        p = sum(terms, Fraction(0)) if count >= LEAST else None
        lenient = pairs.count((True, False))
        graders.append(
            GraderCheck(
                model,
                count,
                agree,
                None if p is None else float(p),
                p is not None and p <= _MOVED,
                lenient,
            )
        )
    least = min((it.p for it in graders if it.p is not None), default=None)
    verdicts, agree = sum(it.verdicts for it in graders), sum(it.agree for it in graders)
    moved, undone = any(it.moved for it in graders), any(ask.undone for ask in asks)
    return SentinelReport(verdicts, agree, held, least, moved, tuple(graders), undone)


def _said(check: GraderCheck, agreement: float) -> str:
    """Say ``the grader moved: it agrees with 6 of 10 sentinels, 9.5 expected (p = 0.001)``, and what to do."""
    name, p = f" {check.model}" if check.model else "", figure(check.p or 0.0, 3)
    figures = f"{check.agree} of {check.verdicts} sentinels, {figure(check.verdicts * agreement, 1)} expected (p = {p})"
    cure = "measure it with `gradegate calibrate`, and write the new figures into the config"
    return f"the grader{name} moved: it agrees with {figures}: {cure}"


def remarks(found: SentinelReport | None) -> list[str]:
    """What every report says of them: sentences."""
    if found is None or found.undone:
        return [_UNDONE] if found else []
    if any(it.p is not None for it in found.graders):
        return [_said(it, found.agreement) for it in found.graders if it.moved]
    few = f"the sentinels got {many(found.verdicts, 'verdict')}, but a check takes at least {LEAST} of one grader"
    return [f"{few}: a grader that moved would not be noticed"]


def standing(outcome: Outcome, moved: bool, lenient: int) -> Outcome:
    """What a rule comes to over the grades of a grader: one that it meets stays met, unless the grader lets failures pass."""
    return Outcome.ERROR if moved and (outcome is Outcome.FAIL or lenient > 0) else outcome


def ruled(
    result: RuleResult,
    rows: Sequence[Row],
    found: SentinelReport | None,
    again: Callable[[Sequence[Row]], RuleResult],
) -> RuleResult:
    """The result of a blocking rule, as far as graders have not moved. ``again`` applies the rule to other rows.

    What it is missed for by other graders, or by code, it is missed for.
    """
    if found is None or not (found.moved or found.undone) or not result.rule.blocking:
        return result
    places = [
        (row, place)
        for row in rows
        for place, grade in enumerate(row.grades)
        if takes(result.rule, row, grade)
    ]
    asked = {model for pair in places for model in _models(*pair)}
    moved = [it for it in found.graders if it.moved and it.model in asked]
    doubts = [
        check
        for check in moved
        if standing(result.outcome, True, check.lenient) is not result.outcome
    ]
    if not doubts and not (found.undone and asked and result.outcome is Outcome.FAIL):
        return result
    models = asked if found.undone else {it.model for it in moved}

    def forgiven(row: Row) -> Row:
        """The row as if those graders had passed what they failed."""
        failed = [
            grade.outcome is Outcome.FAIL and not models.isdisjoint(_models(row, place))
            for place, grade in enumerate(row.grades)
        ]
        passing = [
            replace(it, outcome=Outcome.PASS, score=1.0) if fails else it
            for it, fails in zip(row.grades, failed, strict=True)
        ]
        return (
            replace(
                row, grades=tuple(passing), outcome=conclude_case(passing, row.threshold).outcome
            )
            if any(failed)
            else row
        )

    if result.outcome is Outcome.FAIL and again([*map(forgiven, rows)]).outcome is Outcome.FAIL:
        return result
    return replace(
        result,
        outcome=Outcome.ERROR,
        reason=_said(doubts[0], found.agreement) if doubts else _UNDONE,
    )


def _models(row: Row, place: int) -> set[str]:
    """The models that gave the grade at a place, or the members of that set. A model may name itself nowhere."""
    return {
        it.model for it in parts(row.grades, place) if it.model or it.usage.calls or it.usage.cached
    }
