"""What re-asks found in the cases or grades that a rule counts, in words. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gradegate.deciding.runs import as_cases
from gradegate.deciding.votes import fails
from gradegate.results.earlier_run import PRE_EXISTING, standing
from gradegate.values.figures import many
from gradegate.values.open_grades import unconfirmed
from gradegate.values.result import Grade, Outcome, RunResult


@dataclass(frozen=True, slots=True)
class AskedAgain:
    """How many of what a rule counts fail for certain, and how many grades pass after all."""

    confirmed: int = 0
    overturned: int = 0
    evidence: str = ""  # of the last grade that fails for certain, where its history decided

    def of_cases(self, failed: int, graded: int) -> str:
        """Say ``2 of 100 cases failed, and each failed again when re-asked (4 more failures were overturned)``."""
        cases = many(graded, "case")
        if not failed:
            return f"{graded:,} of {cases} passed{self._overturned()}"
        if not self.confirmed:
            return f"{failed:,} of {cases} failed{self._overturned()}"
        if failed == 1:
            how = f": {self.evidence}" if self.evidence else ", and failed again when re-asked"
            return f"1 of {cases} failed{how}{self._overturned()}"
        again = ", and each failed" if self.confirmed == failed else f"; {self.confirmed:,} of these failed"
        return f"{failed:,} of {cases} failed{again} again when re-asked{self._overturned()}"

    def said(self, failed: int) -> str:
        """The same of a rule's failures, after how it was met or missed."""
        if not self.confirmed:
            return self._overturned()
        some = f"{self.confirmed:,} of {failed:,} failures" if self.confirmed < failed else "each failure" if failed > 1 else "the failure"
        were = "were" if self.confirmed < failed else "was"
        return f"; {some} {were} re-asked and confirmed{self._overturned()}"

    def _overturned(self) -> str:
        if not self.overturned:
            return ""
        more = "more " if self.confirmed else ""
        verb = "was" if self.overturned == 1 else "were"
        return f" ({many(self.overturned, f'{more}failure')} {verb} overturned{'' if more else ' by re-asks'})"


def asked_again(counted: Iterable[tuple[Outcome, Sequence[Grade]]]) -> AskedAgain:
    """The figures of what a rule counts: the outcome of each, and the grades that it is made of."""
    confirmed = overturned = 0
    evidence = ""
    for outcome, grades in counted:
        confirmed += outcome is Outcome.FAIL and any(grade.confirmed for grade in grades)
        for grade in grades:
            if grade.confirmed and grade.history and grade.history.before:
                evidence = f"{fails(grade.votes)} of {many(len(grade.votes), 'ask')} here, {grade.history.before}"
        overturned += sum(grade.outcome is Outcome.PASS and bool(grade.votes) for grade in grades)
    return AskedAgain(confirmed, overturned, evidence)


def spared(run: RunResult, missed: bool) -> str:
    """How many cases failed once and were not asked again; an empty string where none did."""
    named = run.confirm is not None and run.confirm.pre_existing > 0  # old ones, by the rules that look at the base
    number = sum(unconfirmed(row) and not (named and standing(row) == PRE_EXISTING) for row in as_cases(None, run.rows))
    if not number:
        return ""
    if not missed:
        return f"; {many(number, 'failure')} not re-asked"
    verb, them = ("was", "it") if number == 1 else ("were", "them")
    return f"; {many(number, 'case')} failed once and {verb} not re-asked, because the rule is missed without {them}"


def left_undone(number: int) -> str:
    """Say ``5 more were not finished``: a budget or a signal ended the run first."""
    return f"{number:,} more {'was' if number == 1 else 'were'} not finished and might meet the rule"
