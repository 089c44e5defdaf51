"""The grades of a plan that may be re-asked, and their earlier runs: which grade of which answer they are of, and what the run adds."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property

from gradegate.gate.reasks.history import Counted, Votes, count, cut
from gradegate.gate.reasks.stopping import Prior, mean_share
from gradegate.planning.identity import Ordinals, digest, identity, request
from gradegate.planning.plan import Job, Plan
from gradegate.reports.view.wording import called, name
from gradegate.results.grades import Grade, Outcome
from gradegate.results.history import GradeRecord, HistoryReport, PastRun, PastVotes, Records
from gradegate.results.results_file import history_lines
from gradegate.results.rows import Row
from gradegate.results.run_result import RunResult
from gradegate.runner.reasks.eligible import Askable, is_recorded, mode_of
from gradegate.structs import replace

_SHORT, _DIGITS = 7, 16  # of a commit, and of the hash of a request
_SIGNS = {Outcome.PASS: "P", Outcome.FAIL: "F", Outcome.ERROR: "E"}
Place = tuple[int, int]  # of an answer: the index of its job, and the repetition


class Histories:
    """Of the grades that may be asked again, by one grader and in one run of the case."""

    def __init__(self, plan: Plan) -> None:
        self._plan, self._askable = plan, Askable(plan)
        self.records: Records = plan.history.records if plan.history else {}
        self._shares = cache(self._share)

    @cached_property
    def _identities(self) -> Mapping[Place, Mapping[int, str]]:
        """By the position of a grade; equal ones are told apart by their order in the plan."""
        ordinals, found = Ordinals(), dict[Place, dict[int, str]]()
        for index, job in enumerate(self._plan.jobs):
            for repeat in range(0 if job.of_base or job.needs else job.repeats):
                key = identity(job, repeat).hex()
                mine = found[index, repeat] = {}
                for position, bound in self._askable.of(job):
                    held = bound.asserted
                    graders = sorted(model.id for model in bound.models.values())
                    own = digest(
                        [key, held.key.hex(), held.definition.hex(), graders, bound.rubric.steps]
                    )
                    mine[position] = digest([own.hex(), ordinals.next(own)]).hex()
        return found

    def of(self, place: Place) -> Mapping[int, str]:
        """The identities of the grades of an answer, by their positions; none where no history is read or written."""
        return self._identities.get(place, {}) if self._plan.history else {}

    def counted(self, identity: str, model: str) -> Counted:
        """The votes that count beside a first vote of a model."""
        record = self.records.get(identity)
        return count(record.runs, model) if record else Counted()

    def prior(self, job: Job, position: int, identity: str, model: str) -> Prior | None:
        """What the test begins with, of a first vote of a model; None where the history is not used."""
        noise = self._askable.policies[job.suite].noise
        found = self.counted(identity, model)
        if not (found.used and noise):
            return None
        bound = dict(self._askable.of(job))[position]
        failed = ""
        if found.returned and mode_of(bound, job) == "grader":
            days = " and ".join(found.returned[-2:])
            # Only a recorded answer is known to be the same.
            failed = (
                f"{days} without a change"
                if is_recorded(job)
                else f"{days}, and passed later with the same request; set `runs` or `reask: answers`"
            )
        mean = mean_share(*self._shares(model), noise)
        return Prior(
            found.fails, found.passes, mean, noise, self._askable.grades, failed, found.flaky
        )

    def may_decide(self, job: Job, identity: str) -> bool:
        """Whether the history is used where one of its models grades first."""
        runs = self.records[identity].runs if identity in self.records else ()
        return self._askable.policies[job.suite].noise > 0 and any(
            count(runs, model).used for model in {run.model for run in runs}
        )

    def _share(self, model: str) -> tuple[int, int]:
        """The votes of all used histories of the plan by one model."""
        used = [
            it
            for ids in self._identities.values()
            for own in ids.values()
            if (it := self.counted(own, model)).used
        ]
        return sum(it.fails for it in used), sum(it.passes for it in used)

    # --- what came of it --------------------------------------------------------------------------------------

    def told(self, job: Job, row: Row, identities: Mapping[int, str]) -> Row:
        """A row whose grades know their earlier votes."""
        if not identities:
            return row
        grades = list(row.grades)
        for position, own in identities.items():
            grade = grades[position]
            found = self.counted(own, grade.model)
            votes, before = _votes(grade), found.broken or Votes(found.fails, found.passes)
            if sum(before) and not votes.startswith("E"):
                prior = self.prior(job, position, own, grade.model)
                factor = prior.factor(votes.count("F"), votes.count("P")) if prior else None
                past = PastVotes(
                    *before,
                    grade.model,
                    flaky=found.flaky,
                    broken=found.broken is not None,
                    quarantined=job.case.quarantine is not None and job.case.quarantine.lasts,
                    bayes_factor=factor,
                )
                grades[position] = replace(grade, history=past)
        return replace(row, grades=tuple(grades))

    def report(self, rows: Sequence[Row]) -> HistoryReport | None:
        """The history of the run in figures; None where none was read."""
        if not (self._plan.history and self._plan.history.file):
            return None
        held = [(own, grade) for _, _, own, grade in self._grades(rows) if own in self.records]
        past = [it.history for _, it in held if it.history]
        newest = max(
            (run for record in self.records.values() for run in record.runs),
            key=lambda run: run.at,
            default=None,
        )
        return HistoryReport(
            file=self._plan.history.file,
            commit=newest.commit if newest else "",
            grades=len(held),
            used=sum(it.bayes_factor is not None for it in past),
            flaky=sum(it.flaky for it in past),
            broken=sum(it.broken for it in past),
            comes_and_goes=sum(bool(self.counted(own, it.model).returned) for own, it in held),
        )

    def lines(self, run: RunResult) -> Iterator[str]:
        """The file with the votes of a run: of what its graders were asked now, and not of kept replies."""
        records = dict(self.records)
        for job, row, own, grade in self._grades(run.rows) if run.rows else ():
            if not row.error and not grade.usage.cached and (grade.votes or not grade.undone):
                stands = not grade.has_failed or grade.confirmed
                outcome = grade.outcome.value if stands else "open"
                past = PastRun(
                    run.made.started[:10],
                    run.made.commit[:_SHORT],
                    grade.model,
                    _votes(grade),
                    outcome,
                    _asked(job, row),
                )
                before = records[own].runs if own in records else ()
                records[own] = GradeRecord(
                    f"{name(row)} / {called(grade.assertion)}", cut((*before, past))
                )
        yield from history_lines(records)

    def _grades(self, rows: Sequence[Row]) -> Iterator[tuple[Job, Row, str, Grade]]:
        """The grades with an identity, and what they are of."""
        single = (row for row in rows if not row.needs)  # several runs of one case have no history
        for (place, identities), row in (
            zip(self._identities.items(), single, strict=True) if self._plan.history else ()
        ):
            for position, own in identities.items():
                yield self._plan.jobs[place[0]], row, own, row.grades[position]


def _asked(job: Job, row: Row) -> str:
    """A hash of what the target was asked; of a recorded answer, of the answer as well."""
    asked = request(job)
    if is_recorded(job):
        asked = digest([asked.hex(), row.output, [turn.content for turn in row.turns]])
    return asked.hex()[:_DIGITS]


def _votes(grade: Grade) -> str:
    return "".join(_SIGNS[vote.outcome] for vote in grade.votes) or _SIGNS[grade.outcome]
