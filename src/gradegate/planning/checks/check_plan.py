"""Runs every check over the finished plan, and collects mistakes and notes."""

from collections.abc import Iterable, Sequence

from gradegate.assertions.grading.bound import Binding
from gradegate.config import unknown_keys
from gradegate.config.csv_tests import cure_for_variable
from gradegate.core.numbers import list_some
from gradegate.core.policy import Limits, Note
from gradegate.core.settings import Settings
from gradegate.core.suite import Case, Idle
from gradegate.errors import ConfigError, Mistake, Origin
from gradegate.planning import filters
from gradegate.planning.binding.providers import ProviderBinder
from gradegate.planning.checks import (
    assertions,
    credentials,
    derived_metrics,
    models,
    quarantines,
    rules,
)
from gradegate.planning.checks.variables import VariableCheck
from gradegate.planning.pairs import CasePairs
from gradegate.planning.plan import Job
from gradegate.providers.api.provider import Provider
from gradegate.security.egress import EgressPolicy
from gradegate.structs import JsonObject, Struct, replace


class PlannedCase(Struct):
    """A case with one combination of its variables, its bound assertions, and who answers it."""

    case: Case
    values: JsonObject
    bindings: tuple[Binding, ...]
    definition: bytes  # a digest of the case without its assertions
    pairs: CasePairs = CasePairs()


class Draft(Struct):
    """The plan of one suite so far, with the mistakes and notes about it."""

    providers: ProviderBinder
    answers_given: bool  # its cases bring their answers
    cases: Sequence[Case] = ()
    planned: list[PlannedCase] = []
    jobs: list[Job] = []
    has_all_targets: bool = False
    is_too_large: bool = False  # only a part is planned
    idle: list[Idle] = []  # keys of cases that mean nothing
    mistakes: list[Mistake] = []
    notes: list[Note] = []


class Findings(Struct):
    """Mistakes of a plan, the keys that it lacks, and notes."""

    mistakes: list[Mistake] = []
    missing: list[Mistake] = []  # one for each key that is not set
    notes: list[Note] = []

    def error(self, *, keyless: bool) -> ConfigError | None:
        """The error to raise, if any. In a ``keyless`` context a missing key is no mistake."""
        mistakes = self._certain_mistakes() if keyless else self.mistakes + self.missing
        return ConfigError(*_merge_equal_mistakes(mistakes)) if mistakes else None

    def _certain_mistakes(self) -> list[Mistake]:
        """The mistakes that would remain with all keys.

        A mistake at the place of a missing key may be about the stand-in for the key, which is no address and no number. If
        there are only such mistakes, the missing keys are what is wrong.
        """
        if not self.mistakes:
            return []
        missing = [mistake for mistake in self.mistakes + self.missing if mistake.missing]
        places = {mistake.origin for mistake in missing if mistake.origin}
        certain = [
            mistake
            for mistake in self.mistakes
            if not mistake.missing and mistake.origin not in places
        ]
        return certain or missing


def check_plan(
    jobs: Sequence[Job],
    drafts: Sequence[Draft],
    providers: Iterable[Provider],
    egress: EgressPolicy,
    limits: Limits,
    settings: Settings,
) -> Findings:
    """Check each suite, and then what they have in common. ``providers`` are those of all suites."""
    findings = Findings()
    for draft in drafts:
        suite = draft.providers.suite
        missing = suite.missing_variables + draft.providers.missing
        draft.mistakes += credentials.credential_mistakes(draft.providers.bound.values(), egress)
        if not draft.is_too_large:
            _check_suite(draft, frozenset(mistake.missing for mistake in missing), settings)

        findings.mistakes += suite.reading_mistakes
        findings.mistakes += draft.mistakes
        findings.missing += missing
        findings.notes += suite.notes
        findings.notes += unknown_keys.notes_on_idle_keys([*suite.idle, *dict.fromkeys(draft.idle)])
        findings.notes += draft.notes
        findings.notes += credentials.notes_on_written_keys(suite)

    findings.notes += quarantines.notes_on_quarantines(jobs)
    for provider in providers:
        findings.notes += provider.notes
    findings.mistakes += models.price_mistakes(limits, jobs)

    is_empty = not settings.is_listing and not any(job.assertions for job in jobs)
    if is_empty and not findings.mistakes:
        where = Origin(drafts[0].providers.suite.file) if len(drafts) == 1 else None
        cures = (cure_for_variable(job.case.vars) for job in jobs)
        cure = next(filter(None, cures), "add `assert`")
        what = "no test has an assertion, so nothing would be checked"
        findings.mistakes.append(Mistake(what, where, cure))
    return findings


def _check_suite(draft: Draft, missing: frozenset[str], settings: Settings) -> None:
    """Add mistakes and notes to a draft; ``missing`` are the variables that its providers need and that are not set."""
    suite = draft.providers.suite
    jobs = draft.jobs
    mistakes = draft.mistakes
    is_read = not suite.reading_mistakes
    for case in draft.cases:
        mistakes += assertions.case_mistakes(case)

    variables = VariableCheck(
        {name for case in suite.cases for name in case.vars},
        replace(suite.env, missing=missing),
        frozenset(settings.variables),
        is_partial=draft.answers_given or bool(filters.filter_options(settings)),
    )
    for planned in draft.planned:
        targets = planned.pairs.targets
        mistakes += models.grader_image_mistakes(planned.case, planned.bindings)
        mistakes += models.tool_mistakes(planned.bindings, targets)
        mistakes += models.target_image_mistakes(planned.case, targets)
        variables.look_at(planned.case, planned.values, planned.pairs.prompts, targets)

    if draft.answers_given or settings.is_listing:
        mistakes += variables.mistakes()
        return

    mistakes += derived_metrics.derived_mistakes(suite, jobs, is_read)
    if draft.has_all_targets:
        mistakes += assertions.comparison_mistakes(jobs)
        mistakes += variables.mistakes()
    # Rules are checked last: other mistakes are often the reason why a rule selects nothing.
    if not mistakes and is_read:
        mistakes += models.grader_kind_mistakes(suite)
        mistakes += rules.rule_mistakes(suite, jobs, filters.options_leaving_out(settings))
        draft.notes += rules.notes_on_unselected(suite, jobs)
    draft.notes += rules.notes_on_reasks(suite, jobs)
    draft.notes += assertions.notes_on_powerless_gate(suite, jobs)
    draft.notes += assertions.notes_on_assertions(jobs, draft.cases)
    draft.notes += variables.notes()


def _merge_equal_mistakes(mistakes: Iterable[Mistake]) -> list[Mistake]:
    """Mistakes in the order of their places; one that occurs at several places is listed once, with the places."""
    origins_of: dict[Mistake, list[Origin | None]] = {}
    for mistake in mistakes:
        without_origin = Mistake(mistake.what, None, mistake.cure, mistake.missing)
        origins = origins_of.setdefault(without_origin, [])
        if mistake.origin not in origins:
            origins.append(mistake.origin)

    merged = []
    for mistake, origins in origins_of.items():
        what = mistake.what
        other_places = [str(origin) for origin in origins[1:] if origin]
        if other_places:
            what += f" (also at {list_some(other_places[:5], len(other_places))})"
        merged.append(replace(mistake, what=what, origin=origins[0]))
    return sorted(merged, key=_file_and_line)


def _file_and_line(mistake: Mistake) -> tuple[str, int]:
    origin = mistake.origin
    return (origin.file, origin.line) if origin else ("", 0)
