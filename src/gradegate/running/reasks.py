"""Asks grades of one answer again and again, until each of them stands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from gradegate.deciding.chances import Lead
from gradegate.deciding.votes import Prior, Standing, concluded, standing, turn
from gradegate.grading.conclude import Bound, error
from gradegate.http.parallel import gather
from gradegate.planning.job import Job
from gradegate.running import converse
from gradegate.running.border import guarded
from gradegate.running.grade import grade_of
from gradegate.running.rounds import Place
from gradegate.running.transforms import Untransformed
from gradegate.values.conversation import NO_USAGE, Transcript, Usage
from gradegate.values.result import Grade, Outcome

Stopped = Callable[[], str]  # says why no more may be asked; empty as long as more may be


@dataclass
class Asking:
    """Grades of one answer by their position, each with its asks so far, the first one included.

    ``anew``: each time a new answer is asked for, and all that are open are graded in it.
    """

    place: Place
    job: Job
    transcript: Transcript
    bounds: Mapping[int, Bound]
    asks: dict[int, list[Grade]]
    lead: Lead
    reask: int
    anew: bool = False
    priors: Mapping[int, Prior] = field(default_factory=dict)  # of grades with a history that is used
    answers: list[str] = field(default_factory=list)  # the new ones
    usages: list[Usage] = field(default_factory=list)  # the target's, of these
    lost_answers: Usage = NO_USAGE  # the target's, of answers that came to nothing
    lost: Usage = NO_USAGE  # the graders', of asks that came to nothing
    _times: int = 0
    _last: list[int] = field(default_factory=list)  # where the last time gave an ask

    def pursue(self, stopped: Stopped) -> None:
        """Ask until every grade stands, or it is stopped."""
        while self.open and not stopped():
            self.ask(stopped)

    def ask(self, stopped: Stopped) -> None:
        """Ask for every grade once more that does not stand; what is cut off then is no ask."""
        self._times, places = self._times + 1, self.open
        answer: Transcript | Exception = self.transcript
        if self.anew:
            answer = guarded(lambda: converse.transcript(self.job, converse.Memory()), lambda error: error)
        grades = gather([partial(self._ask, self.bounds[place], answer, self._times) for place in places])
        cut = stopped()
        self._keep(answer)
        self._last = []
        for place, grade in zip(places, grades, strict=True):
            if cut and grade.outcome is Outcome.ERROR:
                self.lost += grade.usage
            else:
                self.asks[place].append(grade)
                self._last.append(place)

    def take_back(self) -> None:
        """Let what was asked last count for nothing, beside what it took."""
        for place in self._last:
            self.lost += self.asks[place].pop().usage
        self._last = []
        self.lost_answers += self.usages.pop() if self.usages else NO_USAGE

    @property
    def usage(self) -> Usage:
        """What the target took for new answers."""
        return sum(self.usages, NO_USAGE)

    @property
    def open(self) -> list[int]:
        """The positions of grades that do not stand yet."""
        return [place for place in self.asks if self.standing(place) is Standing.OPEN]

    @property
    def calls(self) -> int:
        """How many requests asking once more takes, if it takes as many as the first time."""
        firsts = [self.asks[place][0].usage for place in self.open]
        target = (len(self.job.case.turns) or 1) if self.anew else 0
        return target + sum(max(1, usage.calls + usage.cached) for usage in firsts)

    def standing(self, place: int) -> Standing:
        """Where the grade at a position stands."""
        outcomes = [grade.outcome for grade in tuple(self.asks[place])]
        return standing(outcomes, self.lead, len(self.bounds[place].again.opinions), self.priors.get(place))

    def concluded(self, place: int) -> Grade:
        """The grade at a position, of all its asks."""
        asks, bound = tuple(self.asks[place]), self.bounds[place]
        models = (opinion(bound, number).models for number in range(len(asks)))
        names = [of["text"].name if "text" in of else "" for of in models]
        grade = concluded(asks, names, self.lead, len(bound.again.opinions), self.priors.get(place))
        evidence = {**grade.evidence, "answers": self.answers[: len(asks) - 1]} if self.anew else grade.evidence
        return replace(grade, inner=asks[0].inner, evidence=evidence)

    def _ask(self, bound: Bound, answer: Transcript | Exception, number: int) -> Grade:
        if isinstance(answer, Untransformed):
            return error(bound, answer, NO_USAGE)
        if isinstance(answer, Exception):
            return error(bound, f"the target gave no answer: {answer}", NO_USAGE)
        return grade_of(opinion(bound, number), answer, self.reask, number)

    def _keep(self, answer: Transcript | Exception) -> None:
        if isinstance(answer, Untransformed):
            answer = answer.transcript
        if self.anew and isinstance(answer, Transcript):
            self.answers.append(answer.output)
            self.usages.append(answer.usage)
        elif self.anew:
            self.answers.append(f"(no answer: {answer})")
            self.usages.append(NO_USAGE)


def opinion(bound: Bound, number: int) -> Bound:
    """The assertion with the model that grades the ``number``-th ask, from 0: second opinions and the first grader take turns."""
    whose = turn(number, len(bound.again.opinions))
    return replace(bound, models={**bound.models, "text": bound.again.opinions[whose - 1]}) if whose else bound
