"""Grades the recorded answers of the base again, where they explain a failure of the head."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime

from gradegate.assertions.grading.bound import Bound
from gradegate.core.conversation import Transcript
from gradegate.core.usage import NO_USAGE, Usage
from gradegate.gate.case_runs import as_cases
from gradegate.gate.reasks.stopping import Standing
from gradegate.gate.regressions import increases, is_old
from gradegate.planning.plan import Job, Plan
from gradegate.results.accounts import BaselineReport
from gradegate.results.baseline import Baseline, beside, report, stated
from gradegate.results.grades import ERROR, FAIL, PASS, Grade, Outcome
from gradegate.results.rows import Row
from gradegate.runner.grading import grade_of
from gradegate.runner.reasks.eligible import Askable
from gradegate.runner.reasks.reask import Asking
from gradegate.runner.rounds import Place
from gradegate.structs import Struct, replace

# The asks of a base are counted from here, so that none is the same request as one of the run, where both answers are the same.
FIRST = 1000
OLD_LEAD = (
    2  # by so many votes a failure that is old has to lead, where a rule has it asked again at all
)
_TURNED = {PASS: FAIL, FAIL: PASS, ERROR: ERROR}
_STANDS = {
    Standing.FAIL: PASS,
    Standing.UNASKABLE: ERROR,
}  # and otherwise it does not


class Regrading(Asking):
    """Grades of the base's recorded answer, asked again by the same rule turned round: passes have to lead."""

    def _ask(self, bound: Bound, answer: Transcript | Exception, number: int) -> Grade:
        assert isinstance(answer, Transcript)  # no new answer is asked for
        grade = grade_of(bound, answer, FIRST + number)
        return replace(grade, outcome=_TURNED[grade.outcome])


class Remembering(Asking):
    """Failures that the base has, too: that neither side leads leaves them what they were."""

    def concluded(self, place: int) -> Grade:
        """The grade at a position, of all its asks."""
        grade = super().concluded(place)
        if self.standing(place) is not Standing.CONTRADICTORY:
            return grade
        return replace(self.asks[place][0], votes=grade.votes, usage=grade.usage, confirmed=False)


class Beside(Struct):
    """The counterparts of a run's answers, by their places, of a case with runs by the first. ``baseline`` is None where there is none."""

    baseline: Baseline | None
    paired: Mapping[Place, Row | None]
    removed: tuple[str, ...]
    askable: Askable
    again: dict[Place, dict[int, Outcome]] = {}  # what was graded again, by answer and position
    usage: Usage = NO_USAGE

    @classmethod
    def of(cls, plan: Plan, askable: Askable, fresh: Mapping[Place, Row | None]) -> Beside | None:
        """The counterparts of a plan; ``fresh`` are the answers of the base that were asked for in this run.

        None where neither a base is there nor a rule that asks for one.
        """
        if plan.base is not None:
            started = datetime.now(UTC).isoformat(timespec="seconds")
            base = Baseline((), plan.base.commit, started, reask="off", fresh=True)
            return cls(base, fresh, plan.base.gone, askable)
        if plan.baseline is None:
            asked = any(rule.beside_base for rule in plan.rules)
            return cls(None, fresh, (), askable) if asked else None
        return cls(plan.baseline, plan.baseline.paired, plan.baseline.removed, askable)

    def stated(self, case: Place, job: Job, row: Row, open_: Collection[int]) -> Row:
        """A row with what the base says of it, and the status of each grade; ``open_`` failed, and may still be asked again.

        What nobody can ask again stands as the base has it.
        """
        again = {}
        if any(grade.has_failed for grade in row.grades):
            base = self.paired.get(case)
            asked = (
                {place for place, _ in self.askable.of(job)} if not base or not base.runs else set()
            )  # k of n stands for that
            fixed = {place: PASS for place in range(len(row.grades)) if place not in asked}
            again = fixed | self.again.get(case, {})
        return stated(beside(row, self.paired.get(case)), again, open_)

    def remembers(self, job: Job, row: Row, position: int) -> bool:
        """Whether a failure is asked again as an old one: it was there before, and no rule but those of the base needs it."""
        own = any(rule.own for rule in self.askable.rules.get(job.suite, ()))
        return not own and is_old(row, row.grades[position])

    def regrading(
        self, case: Place, place: Place, job: Job, row: Row, begun: Collection[int]
    ) -> Regrading | None:
        """What else than has ``begun`` has to be graded again of the base's answer: are the confirmed failures of a row new?"""
        answer, done = self.paired.get(case), {*self.again.get(case, ()), *begun}
        bounds = {
            it: bound
            for it, bound in self.askable.of(job)
            if it not in done and _waits(row.grades[it])
        }
        if answer is None or answer.runs or not bounds:
            return None
        if answer.hidden:
            self.give_up(case, row)
            return None
        asks = {
            it: [replace(row.grades[it], usage=NO_USAGE)] for it in bounds
        }  # the record, turned round
        # What the graders of the base saw; the variables are the same, or nothing would be compared.
        saw = replace(answer.transcript, vars=job.vars, usage=NO_USAGE, tools=job.target.tools)
        return Regrading(place, job, saw, bounds, asks, self.askable.lead(job.suite))

    def keep(self, case: Place, regrading: Regrading) -> None:
        """Take what was found: of each grade that was brought to its end, whether its PASS stands, and what the graders took."""
        standings = {place: regrading.standing(place) for place in regrading.asks}
        found = {
            place: _STANDS.get(it, FAIL)
            for place, it in standings.items()
            if it is not Standing.OPEN
        }
        self.again.setdefault(case, {}).update(found)
        self.usage += sum(
            (ask.usage for asks in regrading.asks.values() for ask in asks[1:]), regrading.lost
        )

    def give_up(self, case: Place, row: Row) -> None:
        """Let what was still to be graded again of the base's answer be what nobody can tell."""
        done = self.again.setdefault(case, {})
        done |= {
            place: ERROR
            for place, grade in enumerate(row.grades)
            if _waits(grade) and place not in done
        }

    def report(self, rows: Sequence[Row]) -> BaselineReport | None:
        """The figures; None where there is nothing to compare with."""
        if self.baseline is None:
            return None
        cost, latency = increases(rows)
        found = report(
            [*as_cases(None, rows)],
            [*self.paired.values()],
            self.removed,
            self.baseline,
            datetime.now(UTC),
        )
        return replace(found, cost=cost, latency=latency)


def _waits(grade: Grade) -> bool:
    """Whether a failure was confirmed, and passed on the base."""
    passed = grade.base is not None and grade.base.has_passed
    return passed and grade.has_failed and grade.confirmed is True
