"""The earlier votes of grades that may be re-asked: what they say of a grade, and what this run adds."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property
from itertools import chain
from operator import attrgetter

from gradegate.gate.reasks.history import VoteCount, count_votes, trim_runs
from gradegate.gate.reasks.stopping import HistoryRule, mean_share
from gradegate.planning.identity import Ordinals, answer_key, digest, request_digest
from gradegate.planning.plan import Job, Plan
from gradegate.reports.view.wording import assertion_name, visible_name
from gradegate.results.grades import Grade, Outcome
from gradegate.results.history import GradeRecord, HistoryReport, PastRun, PastVotes, Records
from gradegate.results.results_file import history_lines
from gradegate.results.rows import AnswerId, Row
from gradegate.results.run_result import RunResult
from gradegate.runner.reasks.eligible import (
    EligibleGrades,
    active_quarantine,
    is_recorded,
    reask_mode,
)
from gradegate.structs import FrozenStruct, replace

_COMMIT_DIGITS = 7
_REQUEST_DIGITS = 16
_SIGNS = {Outcome.PASS: "P", Outcome.FAIL: "F", Outcome.ERROR: "E"}


class _KeyedGrade(FrozenStruct):
    """A grade with its key in the history."""

    key: str
    grade: Grade
    job: Job
    row: Row


class Histories:
    """Earlier votes of the grades that may be re-asked. Runs of a case that are counted together have no history."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self.eligible = EligibleGrades(plan)
        self.records: Records = plan.history.records if plan.history else {}
        self._mean_share = cache(self._find_mean_share)

    @cached_property
    def _keys(self) -> Mapping[AnswerId, Mapping[int, str]]:
        """The key of each grade, by its position. The order in the plan distinguishes equal grades."""
        keys: dict[AnswerId, dict[int, str]] = {}
        if not self._plan.history:
            return keys
        ordinals = Ordinals()
        for index, job in enumerate(self._plan.jobs):
            if job.of_base or job.needs:
                continue
            eligible = self.eligible.bounds_of(job)
            for repeat in range(job.repeats):
                row_key = answer_key(job, repeat).hex()
                grade_keys = {}
                for position, bound in eligible.items():
                    asserted = bound.assertion
                    graders = sorted(model.id for model in bound.models.values())
                    definition = [asserted.key.hex(), asserted.definition.hex(), graders]
                    key = digest([row_key, *definition, bound.rubric.steps])
                    grade_keys[position] = digest([key.hex(), ordinals.next(key)]).hex()
                keys[AnswerId(index, repeat)] = grade_keys
        return keys

    def keys(self, answer_id: AnswerId) -> Mapping[int, str]:
        """The keys of the grades of an answer, by position. Empty if no history is read or written."""
        return self._keys.get(answer_id, {})

    def count_votes(self, key: str, model: str) -> VoteCount:
        """The earlier votes that count together with a first vote of a model."""
        record = self.records.get(key)
        return count_votes(record.runs if record else (), model)

    def rule(self, answer_id: AnswerId, job: Job, position: int, model: str) -> HistoryRule | None:
        """The stopping rule of a grade with a first vote of a model. None if its history is not used."""
        noise = self.eligible.policies[job.suite].noise
        past = self.count_votes(self.keys(answer_id).get(position, ""), model)
        if not (past.is_used and noise):
            return None
        # If the case comes and goes, this says on which days it failed before, and that it passed again by itself.
        returned = ""
        if past.returned and reask_mode(self.eligible.bounds_of(job)[position], job) == "grader":
            returned = " and ".join(past.returned[-2:])
            if is_recorded(job):  # only a recorded answer is known to be the same
                returned += " without a change"
            else:
                returned += (
                    ", and passed later with the same request; set `runs` or `reask: answers`"
                )
        mean = self._mean_share(model, noise)
        return HistoryRule(*past.votes, mean, noise, self.eligible.total, returned)

    def may_decide(self, job: Job, key: str) -> bool:
        """Whether a history would be used if one of its models grades first."""
        if not self.eligible.policies[job.suite].noise or key not in self.records:
            return False
        models = {run.model for run in self.records[key].runs}
        return any(self.count_votes(key, model).is_used for model in models)

    def _find_mean_share(self, model: str, noise: float) -> float:
        """The mean share of failing votes of a model, over all grades with a history that is used."""
        fails = 0
        passes = 0
        for keys in self._keys.values():
            for key in keys.values():
                past = self.count_votes(key, model)
                if past.is_used:
                    fails += past.votes.fails
                    passes += past.votes.passes
        return mean_share(fails, passes, noise)

    # --- what came of it --------------------------------------------------------------------------------------

    def with_past_votes(self, answer_id: AnswerId, job: Job, row: Row) -> Row:
        """The row with the earlier votes of its grades."""
        keys = self.keys(answer_id)
        if not keys:
            return row
        grades = list(row.grades)
        for position, key in keys.items():
            grade = grades[position]
            past = self.count_votes(key, grade.model)
            votes = _encode_votes(grade)
            before = past.broken or past.votes
            if not sum(before) or votes.startswith("E"):
                continue
            rule = self.rule(answer_id, job, position, grade.model)
            past_votes = PastVotes(
                *before,
                grade.model,
                flaky=past.is_flaky,
                broken=past.broken is not None,
                quarantined=active_quarantine(job) is not None,
                bayes_factor=rule.factor(votes.count("F"), votes.count("P")) if rule else None,
            )
            grades[position] = replace(grade, history=past_votes)
        return replace(row, grades=tuple(grades))

    def summarize(self, rows: Sequence[Row]) -> HistoryReport | None:
        """The history of the run in figures. None if no file was read."""
        history = self._plan.history
        if history is None or not history.file:
            return None

        # Only grades of this run with earlier votes count.
        keyed_grades = [keyed for keyed in self._keyed_grades(rows) if keyed.key in self.records]
        comes_and_goes = 0
        for keyed in keyed_grades:
            if self.count_votes(keyed.key, keyed.grade.model).returned:
                comes_and_goes += 1
        pasts = [keyed.grade.history for keyed in keyed_grades if keyed.grade.history]
        return HistoryReport(
            file=history.file,
            commit=self._find_newest_commit(),
            grades=len(keyed_grades),
            used=sum(past.bayes_factor is not None for past in pasts),
            flaky=sum(past.flaky for past in pasts),
            broken=sum(past.broken for past in pasts),
            comes_and_goes=comes_and_goes,
        )

    def _find_newest_commit(self) -> str:
        """The commit of the newest run with votes. Empty if there are no votes."""
        runs = chain.from_iterable(record.runs for record in self.records.values())
        newest = max(runs, key=attrgetter("at"), default=None)
        return newest.commit if newest else ""

    def lines(self, run: RunResult) -> Iterator[str]:
        """The lines of the history file after a run. Votes from kept replies are not added."""
        records = dict(self.records)
        for keyed in self._keyed_grades(run.rows):
            grade = keyed.grade
            if keyed.row.error or grade.usage.cached or (grade.undone and not grade.votes):
                continue
            is_open = grade.has_failed and not grade.confirmed
            past_run = PastRun(
                run.made.started[:10],
                run.made.commit[:_COMMIT_DIGITS],
                grade.model,
                _encode_votes(grade),
                "open" if is_open else grade.outcome.value,
                _request_digest(keyed.job, keyed.row),
            )
            before = records[keyed.key].runs if keyed.key in records else ()
            title = f"{visible_name(keyed.row)} / {assertion_name(grade.assertion)}"
            records[keyed.key] = GradeRecord(title, trim_runs((*before, past_run)))
        yield from history_lines(records)

    def _keyed_grades(self, rows: Sequence[Row]) -> Iterator[_KeyedGrade]:
        """The grades that may have a history, with their keys."""
        single = [row for row in rows if not row.needs]
        for (answer_id, keys), row in zip(self._keys.items(), single, strict=bool(self._keys)):
            for position, key in keys.items():
                yield _KeyedGrade(key, row.grades[position], self._plan.jobs[answer_id.case], row)


def _request_digest(job: Job, row: Row) -> str:
    """A hash of the request to the target. For a recorded answer it includes the answer."""
    request = request_digest(job)
    if is_recorded(job):
        request = digest([request.hex(), row.output, [turn.content for turn in row.turns]])
    return request.hex()[:_REQUEST_DIGITS]


def _encode_votes(grade: Grade) -> str:
    """The votes on a grade as the history has them, a letter each. A grade without re-asks is one vote."""
    if not grade.votes:
        return _SIGNS[grade.outcome]
    return "".join(_SIGNS[vote.outcome] for vote in grade.votes)
