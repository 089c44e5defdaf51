"""Asks grades of one answer again and again, until each of them stands."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from gradegate.assertions.grading.bound import Bound
from gradegate.assertions.grading.conclusion import error
from gradegate.core.conversation import Transcript
from gradegate.core.usage import NO_USAGE, Usage
from gradegate.gate.reasks.ballot import concluded
from gradegate.gate.reasks.stopping import Prior, Standing, standing
from gradegate.gate.statistics import Lead
from gradegate.http.crew import gather
from gradegate.planning.plan import Job
from gradegate.providers.api.provider import Provider
from gradegate.results.grades import Grade
from gradegate.runner import answers as converse
from gradegate.runner.grading import grade_of, guarded
from gradegate.runner.rounds import Place
from gradegate.runner.transforms import Untransformed
from gradegate.structs import Struct, replace

Stopped = Callable[[], str]  # says why no more may be asked; empty as long as more may be


class Asking(Struct):
    """Grades of one answer by their position, each with its asks so far, the first one included."""

    place: Place
    job: Job
    transcript: Transcript
    bounds: Mapping[int, Bound]
    asks: dict[int, list[Grade]]
    lead: Lead
    anew: bool = (
        False  # each time a new answer is asked for, and all that are open are graded in it
    )
    priors: Mapping[int, Prior] = {}  # of grades with a history that is used
    answers: list[str] = []  # the new ones
    usages: list[Usage] = []  # the target's, of these
    lost: Usage = NO_USAGE  # the graders', of asks that came to nothing
    _times: int = 0

    def pursue(self, stopped: Stopped) -> None:
        """Ask until every grade stands, or it is stopped."""
        while self.open and not stopped():
            self._ask_once(stopped)

    def _ask_once(self, stopped: Stopped) -> None:
        """Ask for every grade once more that does not stand; what is cut off then is no ask."""
        self._times, places = self._times + 1, self.open
        answer: Transcript | Exception = self.transcript
        memory = converse.Memory()
        if self.anew:
            answer = guarded(lambda: converse.transcript(self.job, memory), lambda error: error)
        grades = gather(
            [partial(self._ask, self.bounds[place], answer, self._times) for place in places]
        )
        cut = stopped()
        if self.anew:
            heard = answer.transcript if isinstance(answer, Untransformed) else answer
            self.answers.append(
                heard.output if isinstance(heard, Transcript) else f"(no answer: {heard})"
            )
            self.usages.append(memory.spent)
        for place, grade in zip(places, grades, strict=True):
            if cut and grade.has_error:
                self.lost += grade.usage
            else:
                self.asks[place].append(grade)

    def fail(self, why: str) -> None:
        """Let every open grade be an error that nobody can re-ask."""
        for place in self.open:
            while self.standing(place) is Standing.OPEN:
                self.asks[place].append(error(self.bounds[place], why, NO_USAGE))

    @property
    def open(self) -> list[int]:
        """The positions of grades that do not stand yet."""
        return [place for place in self.asks if self.standing(place) is Standing.OPEN]

    @property
    def providers(self) -> Iterator[Provider]:
        """Whom it asks."""
        if self.anew:
            yield self.job.target
        for bound in self.bounds.values():
            yield from bound.models.values()

    def standing(self, place: int) -> Standing:
        """Where the grade at a position stands."""
        outcomes = [grade.outcome for grade in tuple(self.asks[place])]
        return standing(outcomes, self.lead, self.priors.get(place))

    def concluded(self, place: int) -> Grade:
        """The grade at a position, of all its asks."""
        asks = tuple(self.asks[place])
        grade = concluded(asks, self.lead, self.priors.get(place))
        evidence = (
            {**grade.evidence, "answers": self.answers[: len(asks) - 1]}
            if self.anew
            else grade.evidence
        )
        return replace(grade, inner=asks[0].inner, evidence=evidence)

    def _ask(self, bound: Bound, answer: Transcript | Exception, number: int) -> Grade:
        if isinstance(answer, Untransformed):
            return error(bound, answer, NO_USAGE)
        if isinstance(answer, Exception):
            return error(bound, f"the target gave no answer: {answer}", NO_USAGE)
        return grade_of(bound, answer, number)
