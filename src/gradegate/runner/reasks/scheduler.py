"""Re-asks failing grades, in waves, until the rules are settled, so that noise (nearly) never blocks."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from gradegate.assertions.grading.bound import BoundSet
from gradegate.assertions.grading.conclusion import conclude_set
from gradegate.core.conversation import Transcript
from gradegate.core.numbers import many
from gradegate.core.usage import NO_USAGE, Usage
from gradegate.gate.case_runs import stated
from gradegate.gate.reasks.ballot import doubts, is_contradicted, undecided
from gradegate.gate.reasks.needs import GradePlace, Opened, Waves
from gradegate.gate.reasks.stopping import Prior
from gradegate.planning.plan import Job
from gradegate.reports.view.wording import name
from gradegate.results.accounts import BaselineReport, ReaskReport
from gradegate.results.case_outcome import conclude_case
from gradegate.results.grades import Grade, Outcome
from gradegate.results.rows import Row, chief, members
from gradegate.runner.reasks.base_regrade import OLD_LEAD, Beside, Regrading, Remembering
from gradegate.runner.reasks.eligible import Askable, mode_of
from gradegate.runner.reasks.histories import Histories
from gradegate.runner.reasks.reask import Asking, Stopped
from gradegate.runner.rounds import Place, Rounds, by_job
from gradegate.runner.rows import with_grades
from gradegate.structs import FrozenStruct, Struct, replace

# Brings askings to their end, or as far as it can
Pursue = Callable[[Sequence[Asking], Stopped], None]


class Answer(FrozenStruct):
    """A row with the job that it answers. ``transcript`` is what its graders saw, where that was kept."""

    job: Job
    row: Row
    place: Place
    transcript: Transcript | None = None

    @property
    def case(self) -> Place:
        """What stands for all that is decided together: the first run of a case."""
        return (self.place[0], 0) if self.job.needs else self.place

    @property
    def in_quarantine(self) -> bool:
        """Whether its test is in a quarantine that still lasts."""
        return self.job.case.quarantine is not None and self.job.case.quarantine.lasts


class Scheduler(Struct):
    """The answers of a run, in plan order, while their failing grades are asked again."""

    askable: Askable
    histories: Histories
    beside: Beside | None  # the base, where there is one, or a rule that asks for it
    pursue: Pursue
    rounds: Rounds  # of cases that re-asks may unsettle
    _answers: list[Answer] = []
    _cases: dict[Place, list[int]] = {}  # the answers of what is decided together
    _regradings: list[tuple[int, Regrading]] = []  # of the base's answers, that go on now
    _open: dict[int, set[int]] = {}  # the positions of failing grades that may be asked again
    _seen: set[int] = set()  # the answers of which something was open
    _wave: list[tuple[int, Asking]] = []  # what is asked now
    _lost: Usage = NO_USAGE  # what graders took for asks that came to nothing

    def add(self, it: Answer) -> None:
        """Take an answer, in plan order."""
        number = len(self._answers)
        self._answers.append(it)
        self._cases.setdefault(it.case, []).append(number)
        if places := self.askable.open_in(it.job, it.row):
            self._open[number] = places
        if it.in_quarantine:
            # Only those with a history are asked again: it tells a break from flaking, for the report.
            open_ = self._open.pop(number, set())
            if worth := open_.intersection(self._priors(number, open_)):
                self._open[number] = worth
        self._forgive(number)
        if number in self._open:
            self._seen.add(number)
        self._state([number])

    def _put(self, number: int, row: Row) -> None:
        """Keep a row in place of the one that was there."""
        self._answers[number] = replace(self._answers[number], row=row)

    def run(self, stopped: Stopped) -> None:
        """Ask until no rule can change, or it is stopped."""
        waves = self._waves()
        while not stopped() and (wave := waves.next()):
            for number in self._ask(wave, stopped):
                waves.update(number, self._opened(number))
        if not stopped():  # no rule needs it: those that read the report do
            self._ask(waves.last(), stopped)

    def _ask(self, wave: Iterable[GradePlace], stopped: Stopped) -> list[int]:
        """Ask the grades of one wave until they stand, and make the runs that this takes; gives the numbers of the cases."""
        self._wave = list(self._asking(wave))
        self.pursue([asking for _, asking in self._wave], stopped)
        numbers = sorted(set(self._settle()))  # an answer may have been asked again in two ways
        self._go_on()
        self._regrade(numbers, stopped)
        return sorted({self._cases[self._answers[number].case][0] for number in numbers})

    def _go_on(self) -> None:
        """Make the runs that cases need which re-asks unsettled."""
        while True:
            wanted = self.rounds.next(
                by_job((it.place, it.row) for it in self._answers if it.job.needs)
            )
            # What is asked with them may have been before.
            places = sorted(set(wanted).difference(it.place for it in self._answers))
            if not places:
                return
            for place, asked in self.rounds.take(places).items():
                job = asked.job or self.rounds.jobs[place[0]]
                self.add(Answer(job, asked.row, place, asked.transcript))

    def end(self, why: str) -> list[Row]:
        """The rows. Where ``why`` says that asking ended early, an open grade that a rule still needs is an ERROR."""
        self._state([*self._settle(), *self._regraded()])
        self._go_on()
        for number, answer in enumerate(self._answers):
            if answer.in_quarantine and number in self._open:
                del self._open[number]
                self._forgive(number)
        if why and self.beside is not None:
            for number in self._seen:
                self.beside.give_up(self._answers[number].case, self._answers[number].row)
            self._state(self._seen)
        for number, position in self._waves().needed() if why else ():
            grade = self._answers[number].row.grades[position]
            reason = f"failed, and was not re-asked: {why}"
            self._change(number, {position: undecided(grade, reason, undone=True)})
            self._state([number])
        for number in self._open:
            left, row = dict(self._left(number)), self._answers[number].row
            grades = tuple(
                replace(grade, unconfirmed=place in left) for place, grade in enumerate(row.grades)
            )
            self._put(number, replace(row, grades=grades))
        for number, it in enumerate(self._answers):
            self._put(number, self.histories.told(it.job, it.row, self.histories.of(it.place)))
        found = by_job((it.place, it.row) for it in self._answers)
        return [row for rows in found.values() for row in stated(rows)]

    # --- what is open -----------------------------------------------------------------------------------------

    def _waves(self) -> Waves:
        if not self._open:
            return Waves((), {}, compared=False)
        rules = (rule for several in self.askable.rules.values() for rule in several)
        compared = self.beside is not None and self.beside.baseline is not None
        return Waves(
            rules,
            {numbers[0]: self._opened(numbers[0]) for numbers in self._cases.values()},
            compared,
        )

    def _opened(self, number: int) -> Opened:
        numbers = self._cases[self._answers[number].case]
        return Opened.of_case(
            [(it, self._answers[it].row, frozenset(self._open.get(it, ()))) for it in numbers]
        )

    # --- a wave -----------------------------------------------------------------------------------------------

    def _asking(self, wave: Iterable[GradePlace]) -> Iterator[tuple[int, Asking]]:
        """The grades of a wave, those of one answer together; with new answers apart from those of the same one."""
        groups = defaultdict(list)
        for number, position in wave:
            answer = self._answers[number]
            bound = dict(self.askable.of(answer.job))[position]
            old = (
                self.beside is not None
                and not answer.job.needs
                and self.beside.remembers(answer.job, answer.row, position)
            )
            groups[number, mode_of(bound, answer.job) == "answers", old].append(position)
        for (number, anew, old), positions in groups.items():
            answer = self._answers[number]
            job, row = answer.job, answer.row
            transcript = answer.transcript or row.transcript
            bounds = {place: bound for place, bound in self.askable.of(job) if place in positions}
            asks = {place: [row.grades[place]] for place in bounds}
            kind, lead, priors = Asking, self.askable.lead(job.suite), {}
            if old:
                kind, lead = Remembering, lead._replace(votes=OLD_LEAD)
            else:
                priors = self._priors(number, positions)
            yield number, kind(answer.place, job, transcript, bounds, asks, lead, anew, priors)

    def _priors(self, number: int, positions: Iterable[int]) -> dict[int, Prior]:
        """Of the grades whose history is used."""
        answer = self._answers[number]
        priors = {}
        for place, own in self.histories.of(answer.place).items():
            if place in positions:
                model = answer.row.grades[place].model
                if prior := self.histories.prior(answer.job, place, own, model):
                    priors[place] = prior
        return priors

    def _settle(self) -> list[int]:
        """Conclude what was asked; gives the numbers of its answers."""
        numbers = []
        while self._wave:
            number, asking = self._wave[-1]
            grades = {
                place: asking.concluded(place)
                for place, asks in asking.asks.items()
                if len(asks) > 1
            }
            self._open[number] -= {
                place for place, grade in grades.items() if grade.confirmed is not None
            }
            self._change(number, grades)
            row = self._answers[number].row
            self._put(number, replace(row, usage=sum(asking.usages, row.usage)))
            self._lost += asking.lost
            self._wave.pop()
            numbers.append(number)
        return numbers

    def _change(self, number: int, grades: Mapping[int, Grade]) -> None:
        """Put other grades into a row, and conclude its sets and its case anew."""
        answer, position = self._answers[number], 0
        changed = [grades.get(n, grade) for n, grade in enumerate(answer.row.grades)]
        for binding in answer.job.assertions:
            if isinstance(binding, BoundSet):
                places = members(changed, position)
                inside = [replace(changed[place], inner=False) for place in places]
                changed[position] = conclude_set(binding, inside)
                position += len(inside)
            position += 1
        self._put(number, with_grades(answer.job.case, answer.row, changed))
        self._forgive(number)

    # --- quarantine -------------------------------------------------------------------------------------------

    def _forgive(self, number: int) -> None:
        """Let failing grades of a test in quarantine only advise, and conclude the case without them."""
        answer = self._answers[number]
        quarantine, grades = answer.job.case.quarantine, list(answer.row.grades)
        if quarantine is None or not answer.in_quarantine:
            return
        bad = [
            place
            for place, grade in enumerate(grades)
            if not grade.has_passed and grade.assertion.counts
        ]
        kept = {place for place in bad if not self._is_forgivable(number, place)}
        is_open = any(grades[place].has_failed for place in kept)
        kept |= {chief(grades, place) for place in kept}
        # Where the whole test has one score, all of it is forgiven but for errors, or none.
        threshold = answer.job.case.threshold
        if threshold is not None:
            bare = [replace(grade, quarantine=None) for grade in grades]
            fails_as_whole = conclude_case(bare, threshold).outcome is Outcome.FAIL
            bad = list(range(len(grades))) if fails_as_whole and not is_open else []
        for place, grade in enumerate(grades):
            forgiven = place in bad and place not in kept and not grade.inner
            grades[place] = replace(grade, quarantine=quarantine.until if forgiven else None)
        if answer.job.needs:  # a run that fails is no run that passes
            self._put(number, replace(answer.row, grades=tuple(grades)))
        else:
            self._put(number, with_grades(answer.job.case, answer.row, grades))

    def _is_forgivable(self, number: int, place: int) -> bool:
        """Whether a grade that does not pass may only advise: a failure that is not asked again now, or votes that decide nothing."""
        grade = self._answers[number].row.grades[place]
        if grade.assertion.is_set:  # its members say
            return True
        if place in self._open.get(number, ()):
            return False
        return grade.has_failed or is_contradicted(grade)

    def _quarantine_notes(self) -> Iterator[str]:
        """What the votes say against a quarantine."""
        for answer in self._answers:
            for grade in answer.row.grades if answer.in_quarantine else ():
                past = grade.history
                if past is None or not (past.broken or past.before):
                    continue
                before = f"{past.fails} of {many(past.fails + past.passes, 'ask')} failed on the default branch"
                what = f"`{name(answer.row)}` is in quarantine, but it is"
                if past.broken:
                    yield f"{what} broken, not flaky: {before}"
                elif grade.confirmed:
                    here = f"{grade.failing_votes} of {many(len(grade.votes), 'ask')} failed here"
                    yield f"{what} broken, not flaky: {here}, {past.before}"
                elif not past.flaky:
                    yield f"{what} not flaky: {before}: remove the quarantine"

    # --- the base ---------------------------------------------------------------------------------------------

    def _regrade(self, numbers: Iterable[int], stopped: Stopped) -> None:
        """Have the base's answers graded again where a failure was confirmed, and say what that makes of it."""
        if self.beside is None:
            return
        numbers = list(numbers)
        self._state(numbers)
        pending: set[tuple[Place, int]] = set()
        for number in numbers:
            answer = self._answers[number]
            runs = [self._answers[run].row for run in self._cases[answer.case]]
            if answer.job.needs and self.rounds.passes(answer.place[0], runs):
                continue
            begun = {place for case, place in pending if case == answer.case}
            if regrading := self.beside.regrading(
                answer.case, answer.place, answer.job, answer.row, begun
            ):
                self._regradings.append((number, regrading))
                pending |= {(answer.case, place) for place in regrading.bounds}
        self.pursue([regrading for _, regrading in self._regradings], stopped)
        self._regraded()
        self._state(run for number in numbers for run in self._cases[self._answers[number].case])

    def _regraded(self) -> list[int]:
        """Keep what was found of the base's answers; gives the numbers of those of the run."""
        numbers = []
        while self._regradings and self.beside:
            number, regrading = self._regradings.pop()
            self.beside.keep(self._answers[number].case, regrading)
            numbers.append(number)
        return numbers

    def _state(self, numbers: Iterable[int]) -> None:
        """Say of each grade what it is beside the base."""
        beside = self.beside
        for number in numbers if beside else ():
            answer = self._answers[number]
            row = beside.stated(answer.case, answer.job, answer.row, self._open.get(number, ()))  # type: ignore[union-attr]
            self._put(number, row)

    @property
    def unseen(self) -> Usage:
        """What graders took for no grade of the run: for asks that came to nothing, and for the base's answers."""
        return self._lost + (self.beside.usage if self.beside else NO_USAGE)

    def baseline(self, rows: Sequence[Row]) -> BaselineReport | None:
        """The run beside its base; None where there is none."""
        return self.beside.report(rows) if self.beside else None

    # --- what came of it --------------------------------------------------------------------------------------

    def report(self) -> ReaskReport:
        """The figures."""
        asked = list(self._asked_again())
        outcomes = [grade.outcome for grade in asked]
        unanswered = sum(
            sum(1 for _ in self.askable.of(it.job)) for it in self._answers if it.row.error
        )
        for runs in self._cases.values():  # and runs that nobody needed
            job = self._answers[runs[0]].job
            if job.needs:
                unanswered += (job.repeats - len(runs)) * sum(1 for _ in self.askable.of(job))
        policies = self.askable.policies
        beside = self.beside
        left = [
            (self._answers[number], place)
            for number in self._open
            for place, _ in self._left(number)
        ]
        return ReaskReport(
            mode=", ".join(sorted({policy.reask for policy in policies.values()})) or "off",
            noise=max((policy.noise for policy in policies.values()), default=0.0),
            lead=max((self.askable.lead(suite).votes for suite in policies), default=0),
            grades=self.askable.grades,
            asked_again=len(asked),
            overturned=outcomes.count(Outcome.PASS),
            confirmed=sum(grade.confirmed is True for grade in asked),
            undecided=outcomes.count(Outcome.ERROR),
            not_asked_again=len(left),
            pre_existing=sum(
                bool(beside and beside.remembers(answer.job, answer.row, place))
                for answer, place in left
            ),
            asks=self.askable.grades - unanswered + sum(len(grade.votes) - 1 for grade in asked),
        )

    def doubts(self) -> list[str]:
        """What the asks say against `noise`, and against asking the same grader again."""
        held = all(self.askable.lead(suite).held for suite in self.askable.policies)
        return [*doubts(self.report(), list(self._asked_again()), held), *self._quarantine_notes()]

    def _left(self, number: int) -> Iterator[tuple[int, Grade]]:
        """The open grades of an answer that fail, with their positions; what a set tolerates of its members does not."""
        grades = self._answers[number].row.grades
        for place in self._open[number]:
            if grades[place].outcome is grades[chief(grades, place)].outcome is Outcome.FAIL:
                yield place, grades[place]

    def _asked_again(self) -> Iterator[Grade]:
        return (
            grade
            for number in sorted(self._seen)
            for grade in self._answers[number].row.grades
            if grade.votes
        )
