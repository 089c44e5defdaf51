"""The result of several asks of one grade: Wald's sequential test over their outcomes and models, and votes of earlier runs. Pure."""

import enum
import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gradegate.core.numbers import many, mean, percent
from gradegate.core.usage import NO_USAGE
from gradegate.gate.statistics import Lead, tail
from gradegate.results.accounts import ConfirmReport
from gradegate.results.grades import Grade, Outcome, Vote
from gradegate.results.history import LEAST, PastRun
from gradegate.structs import Struct, replace

CONTRADICTION = "the grader contradicts itself"
DISAGREEMENT = "the graders disagree"
DOUBT = "the re-asks cannot tell a broken case from a flaky one"
RETURN = "the failure comes and goes"
_LIKELY = 0.01  # with a noise that is true, more are overturned in one run of a hundred
_FEW = 3  # grades asked again, that may be alike by chance
MOST_ERRORS = 1  # asks without a verdict; with another one, the grade cannot be asked again
MOST_VOTES = 60  # of the newest runs that count
MOST_ASKS = 20  # of a grade with a history
MOST_RUNS = 200  # of one grade that a file keeps
OVERTURNS = 0.5  # the factor at which a PASS overturns
_ODDS = 200  # by so many, times the grades that may be asked again, a break must be likelier
_WEIGHT, _BROKEN = 5.0, 20.0  # votes that the two shares are worth before any vote is seen
_FLAKY = 20  # a grade is flaky unless fewer than one in so many of its votes fail, or pass


class Counted(NamedTuple):
    """The votes of a history that count. ``failed``: the date of a counted failure after which an equal request passed."""

    fails: int = 0
    passes: int = 0
    failed: str = ""

    @property
    def used(self) -> bool:
        """Whether there are enough to decide by."""
        return self.fails + self.passes >= LEAST

    @property
    def flaky(self) -> bool:
        """Whether a share of 5 to 95 % of them fails."""
        return self.used and _FLAKY * min(self.fails, self.passes) >= self.fails + self.passes


def count(runs: Iterable[PastRun], model: str) -> Counted:
    """The votes that count beside a first vote of that model: of the newest runs by it, from before the case broke."""
    own = [run for run in runs if run.model == model]
    counted = own[_span(own)]
    passed: set[str] = set()  # requests of later runs
    failed = ""
    for run in reversed(counted):
        failed = (
            run.at if not failed and run.outcome == "fail" and run.request in passed else failed
        )
        passed |= {run.request} if run.outcome == "pass" else set()
    return Counted(
        sum(run.votes.count("F") for run in counted),
        sum(run.votes.count("P") for run in counted),
        failed,
    )


def cut(runs: Sequence[PastRun]) -> tuple[PastRun, ...]:
    """The newest runs that a later count may read, whichever of the models is asked then."""
    kept: list[int] = []
    for model in {run.model for run in runs}:
        own = [place for place, run in enumerate(runs) if run.model == model]
        kept += own[_span([runs[place] for place in own]).start :]
    return tuple(runs[place] for place in sorted(kept)[-MOST_RUNS:])


def _span(runs: Sequence[PastRun]) -> slice:
    """The newest whole runs that have no more votes than count, before the longest tail that is broken.

    That tail begins with a failure, and at least 3 of 4 of its runs fail.
    """
    failed, end = 0, len(runs)
    for place in range(len(runs) - 1, -1, -1):
        run = runs[place]
        if run.outcome == "fail" or (
            run.outcome == "error" and run.votes.count("F") > run.votes.count("P")
        ):
            failed += 1
            end = place if 4 * failed >= 3 * (len(runs) - place) else end
    votes, first = 0, end
    while (
        first
        and (votes := votes + sum(vote != "E" for vote in runs[first - 1].votes)) <= MOST_VOTES
    ):
        first -= 1
    return slice(first, end)


# --- the test of a grade with a history: the case that is as before and the broken case are two Beta-distributed shares of
# failing asks; the Bayes factor of the two is a martingale under the first, so that J. Ville's inequality ("Etude critique
# de la notion de collectif", 1939) bounds wrong failures whenever asking stops.


def mean_share(fails: int, passes: int, noise: float) -> float:
    """The mean share of failing asks of a case that is as before, by the votes of all used histories together."""
    return min(0.25, max(noise / 2, fails / (fails + passes) if fails + passes else 0.0))


class Prior(Struct, frozen=True):
    """A used history as the test takes it."""

    fails: int
    passes: int
    mean: float  # by ``mean_share``
    noise: float
    grades: int  # of the run that may be asked again
    failed: str = ""  # as ``Counted`` has it, empty where it decides nothing
    flaky: bool = False

    def factor(self, fails: int, passes: int) -> float:
        """How much likelier so many votes are if the case is broken than if it is as before; their order is all one."""
        before, broken = self._beta(broken=False), self._beta(broken=True)
        votes = [
            *((number, 0, 0) for number in range(fails)),
            *((fails, number, 1) for number in range(passes)),
        ]
        return math.prod(_chance(broken, *vote) / _chance(before, *vote) for vote in votes)

    def failing(self, fails: int, passes: int, *, broken: bool) -> float:
        """The chance that the ask after so many votes fails."""
        return _chance(self._beta(broken=broken), fails, passes, 0)

    def _beta(self, *, broken: bool) -> tuple[float, float]:
        if broken:
            return _BROKEN * (1 - self.noise / 2), _BROKEN * self.noise / 2
        return _WEIGHT * self.mean + self.fails, _WEIGHT * (1 - self.mean) + self.passes


def _chance(beta: tuple[float, float], fails: int, passes: int, side: int) -> float:
    """Of a FAIL (side 0) or a PASS (1) after so many of both."""
    return (beta[side] + (fails, passes)[side]) / (sum(beta) + fails + passes)


class Chances(NamedTuple):
    """How a grade with a history ends, and after how many asks on average."""

    passes: float = 0.0
    fails: float = 0.0
    errors: float = 0.0
    asks: float = 0.0


def factor_chances(prior: Prior, *, broken: bool) -> Chances:
    """Those of a case that is as before, or broken: the walk over votes, summed exactly."""
    first = prior.failing(0, 0, broken=broken)
    ends = {"pass": 1 - first, "fail": 0.0, "error": 0.0}
    asks, at = 1 - first, {(1, 0): first}
    for number in range(1, MOST_ASKS + 1):
        following: dict[tuple[int, int], float] = {}
        for (fails, passes), chance in at.items():
            if (end := ended(prior, fails, passes)) or number == MOST_ASKS:
                ends[end or "error"] += chance
                asks += number * chance
                continue
            fail = chance * prior.failing(fails, passes, broken=broken)
            following[fails + 1, passes] = following.get((fails + 1, passes), 0.0) + fail
            following[fails, passes + 1] = following.get((fails, passes + 1), 0.0) + chance - fail
        at = following
    return Chances(ends["pass"], ends["fail"], ends["error"], asks)


def ended(prior: Prior, fails: int, passes: int) -> str:
    """How so many votes end asking, "pass" or "fail"; empty where they do not."""
    factor = prior.factor(fails, passes)
    return (
        "fail"
        if factor >= _ODDS * prior.grades
        else "pass"
        if factor <= OVERTURNS and passes
        else ""
    )


class Standing(enum.Enum):
    """Where a grade stands after some asks."""

    OPEN = "open"  # to be asked again
    PASS = "pass"
    FAIL = "fail"  # confirmed
    CONTRADICTORY = "contradictory"  # neither side leads after the most asks
    DISPUTED = "disputed"  # one grader always fails it, another one always passes it
    UNASKABLE = "unaskable"  # too many asks gave no verdict
    RETURNING = "returning"  # confirmed, and it was there before and went without a change


def turn(number: int, opinions: int) -> int:
    """Who grades the ``number``-th ask, from 0: 0 is the first grader, and the others are second opinions, by their number."""
    return (
        (1, 0, *range(2, opinions + 1))[(number - 1) % (opinions + 1)] if number and opinions else 0
    )


def standing(
    outcomes: Sequence[Outcome], lead: Lead, opinions: int = 0, prior: Prior | None = None
) -> Standing:
    """Failures have to lead by ``lead`` votes, passes by one, within 3 * ``lead`` asks; with a ``prior`` by those of earlier runs.

    A first ERROR stays one. With second ``opinions`` passes overturn nothing as long as the first grader gave none of them, and of
    two graders that are each sure of another outcome neither counts for more. What else is asked until one side leads, is judged
    by the same rule: let FAIL stand for the side that has to lead by more.
    """
    fails, passes, errors = (
        outcomes.count(it) for it in (Outcome.FAIL, Outcome.PASS, Outcome.ERROR)
    )
    if prior is not None:
        end = ended(prior, fails, passes) if fails else "pass" * bool(passes)
        if end:
            return (
                Standing.PASS
                if end == "pass"
                else Standing.RETURNING
                if prior.failed
                else Standing.FAIL
            )
    elif len(_sure(outcomes, lead, opinions)) > 1:
        return Standing.DISPUTED
    elif fails - passes >= lead.votes:
        return Standing.FAIL
    elif passes > fails and any(
        it is Outcome.PASS and not turn(n, opinions) for n, it in enumerate(outcomes)
    ):
        return Standing.PASS
    if errors > MOST_ERRORS or errors == len(outcomes):
        return Standing.UNASKABLE
    return (
        Standing.CONTRADICTORY
        if len(outcomes) >= (MOST_ASKS if prior else 3 * lead.votes)
        else Standing.OPEN
    )


def _sure(outcomes: Sequence[Outcome], lead: Lead, opinions: int) -> dict[Outcome, list[int]]:
    """The numbers of the asks of a grader that always says PASS, and of one that always says FAIL, often enough."""
    sure: dict[Outcome, list[int]] = {}
    for grader in range(opinions + 1):
        asks = [
            n
            for n, it in enumerate(outcomes)
            if turn(n, opinions) == grader and it is not Outcome.ERROR
        ]
        if len(asks) >= lead.sure and len({outcomes[n] for n in asks}) == 1:
            sure.setdefault(outcomes[asks[0]], asks)
    return sure


def concluded(
    asks: Sequence[Grade],
    models: Sequence[str],
    lead: Lead,
    opinions: int = 0,
    prior: Prior | None = None,
) -> Grade:
    """One grade of all ``asks`` of it, the first one included; ``models`` are those that were asked, ``opinions`` of them others.

    The score is the mean of the votes that won, so that a PASS never shows the score of a failure; the reason is the last
    winner's. As long as neither side won, it is the first grade with its votes.
    """
    outcomes = [ask.outcome for ask in asks]
    where = standing(outcomes, lead, opinions, prior)
    votes = tuple(
        Vote(ask.outcome, ask.score, ask.reason, model)
        for ask, model in zip(asks, models, strict=True)
    )
    usage = sum((ask.usage for ask in asks), NO_USAGE)
    if where is Standing.OPEN:
        return replace(asks[0], votes=votes, usage=usage)
    if where in (Standing.PASS, Standing.FAIL):
        won = [ask for ask in asks if ask.outcome.value == where.value]
        scores = [ask.score for ask in won if ask.score is not None]
        score = float(mean(scores)) if scores else None
        unread, confirmed = (
            next((ask.unread for ask in won if ask.unread), ""),
            where is Standing.FAIL,
        )
        return replace(
            won[-1],
            score=score,
            unread=unread,
            usage=usage,
            votes=votes,
            confirmed=confirmed,
            model=asks[0].model,
        )
    if where is Standing.DISPUTED:
        sure = _sure(outcomes, lead, opinions)
        no, yes = sure[Outcome.FAIL], sure[Outcome.PASS]
        reason = f"{DISAGREEMENT}: {models[no[0]]} failed {len(no)} of {len(no)} asks, {models[yes[0]]} passed {len(yes)} of {len(yes)}"
    elif where is Standing.RETURNING and prior:
        reason = f"{RETURN}: it failed here, and also on {prior.failed} without a change"
    elif where is Standing.CONTRADICTORY:
        before = f", and {prior.fails} of {prior.fails + prior.passes} before" if prior else ""
        reason = f"{DOUBT if prior else CONTRADICTION}: {fails(votes)} of {len(votes)} asks failed{before}"
    else:
        last = next(ask.reason for ask in reversed(asks) if ask.outcome is Outcome.ERROR)
        reason = f"failed, and re-asking gave errors: {last}"
    setup = any(ask.setup for ask in asks)
    return undecided(
        replace(asks[0], usage=usage, votes=votes, confirmed=False, setup=setup), reason
    )


def undecided(grade: Grade, why: str, undone: bool = False) -> Grade:
    """The grade as an ERROR without a verdict; ``undone``: a budget or a signal left it before its end."""
    return replace(
        grade,
        outcome=Outcome.ERROR,
        score=None,
        reason=why,
        unread="",
        unheard=False,
        undone=undone or grade.undone,
    )


def is_contradicted(grade: Grade) -> bool:
    """Whether the asks of a grade lead to neither side, or graders are sure of both."""
    errors = sum(vote.outcome is Outcome.ERROR for vote in grade.votes)
    return (
        grade.outcome is Outcome.ERROR
        and bool(grade.votes)
        and errors <= MOST_ERRORS
        and not grade.undone
    )


def fails(votes: Iterable[Vote]) -> int:
    """How many votes failed."""
    return sum(vote.outcome is Outcome.FAIL for vote in votes)


# --- what the re-asks found, checked against their assumptions ----------------------------------------------------


def doubts(report: ConfirmReport, asked: Sequence[Grade], held: bool) -> list[str]:
    """What a user should know: sentences. ``asked`` are the grades that were asked again; ``held``: 1 % is."""
    said = []
    if report.grades and not held:
        said.append(
            f"re-asking {many(report.grades, 'grade')} up to a lead of {report.lead} does not keep wrong blocks below 1 %. "
            f"Lower `noise` (now {report.noise:g}), or grade fewer cases."
        )
    if noisier(report.overturned, report.grades, report.noise):
        said.append(
            f"the grader changed its mind on {report.overturned:,} of {many(report.grades, 'grade')}, more than `noise` allows "
            f"({percent(report.noise)}). Measure the noise with `gradegate calibrate`."
        )
    if len(asked) >= _FEW and all(
        len({(vote.outcome, vote.score, vote.reason) for vote in grade.votes}) == 1
        for grade in asked
    ):
        said.append(
            "every re-ask returned the same reply, so re-asking confirms nothing. Use a temperature above 0, or set `second-opinions`."
        )
    return said


def noisier(overturned: int, grades: int, noise: float) -> bool:
    """Whether so many overturned grades are too many for a grader with that noise."""
    return overturned > 0 and tail(overturned, grades, noise) < _LIKELY
