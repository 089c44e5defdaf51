"""Runs every check over the finished plan, and gathers what is wrong with it."""

from collections.abc import Collection, Iterable, Iterator, Sequence

from gradegate.assertions.grading.bound import Binding
from gradegate.config import unknown_keys
from gradegate.config.test_files import cure_for_variable
from gradegate.core.numbers import list_some
from gradegate.core.policy import Limits, Note
from gradegate.core.provider_spec import PromptSpec
from gradegate.core.settings import Settings
from gradegate.core.suite import Case
from gradegate.errors import ConfigError, Mistake, Origin
from gradegate.planning import filters
from gradegate.planning.binding.models import ModelBinder
from gradegate.planning.checks import (
    assertions,
    credentials,
    derived_metrics,
    models,
    quarantines,
    rules,
)
from gradegate.planning.checks.variables import Names
from gradegate.planning.plan import Job
from gradegate.providers.api.provider import Provider
from gradegate.structs import JsonObject, Struct, replace


class PlannedCase(Struct):
    """A case with one combination of its variables, its assertions, and who is asked with which prompt."""

    case: Case
    values: JsonObject
    bindings: tuple[Binding, ...]
    definition: bytes  # what the case gives and asks for
    prompts: Collection[PromptSpec] = ()  # that are filled in for it
    targets: Collection[Provider] = ()


class Draft(Struct):
    """What was planned of one suite, and what was found to be wrong or worth a word on the way."""

    binder: ModelBinder
    answers_given: bool  # its cases bring their answers
    cases: Sequence[Case] = ()
    planned: list[PlannedCase] = []
    jobs: list[Job] = []
    has_all_targets: bool = False
    is_too_large: bool = False  # planned only in part
    mistakes: list[Mistake] = []
    notes: list[Note] = []


class Findings(Struct):
    """What is wrong with a plan, which keys it lacks, and what people should know."""

    mistakes: list[Mistake] = []
    missing: list[Mistake] = []
    notes: list[Note] = []

    def error(self, *, keyless: bool) -> ConfigError | None:
        """What there is to raise; ``keyless``: only what no key would cure, or the keys where nothing is certain without them."""
        found = [*self.mistakes, *self.missing]
        if keyless and self.mistakes:
            # What is said where a key is missing may be said of the stand-in, which is no address and no number.
            missing = [mistake for mistake in found if mistake.missing]
            places = {mistake.origin for mistake in missing if mistake.origin}
            wrong = [it for it in self.mistakes if not it.missing and it.origin not in places]
            found = wrong or missing
        elif keyless:
            found = []
        return ConfigError(*_grouped(found)) if found else None


def _grouped(mistakes: Iterable[Mistake]) -> Iterator[Mistake]:
    """Mistakes by their place; the same one at many lines is said once, with the lines."""
    places: dict[tuple[str, str, str], list[Origin | None]] = {}
    for mistake in mistakes:
        origins = places.setdefault((mistake.what, mistake.cure, mistake.missing), [])
        if mistake.origin not in origins:
            origins.append(mistake.origin)

    def place(item: tuple[object, list[Origin | None]]) -> tuple[str, int]:
        first = item[1][0]
        return (first.file, first.line) if first else ("", 0)

    for (what, cure, missing), origins in sorted(places.items(), key=place):
        others = [str(origin) for origin in origins[1:] if origin]
        also = f" (also at {list_some(others[:5], len(others))})" if others else ""
        yield Mistake(what + also, origins[0], cure, missing)


def check_plan(
    jobs: Sequence[Job],
    drafts: Sequence[Draft],
    providers: Collection[Provider],
    limits: Limits,
    settings: Settings,
) -> Findings:
    """Look at every suite, and then at what they have in common."""
    findings = Findings()
    for draft in drafts:
        suite, binder = draft.binder.suite, draft.binder
        missing = [*suite.missing, *binder.missing]
        if not draft.is_too_large:
            _check_suite(draft, frozenset(it.missing for it in missing), settings)
        findings.mistakes += (*suite.unread, *draft.mistakes)
        findings.missing += missing
        passed = unknown_keys.notes_on_idle_keys([*suite.idle, *dict.fromkeys(binder.idle)])
        written = credentials.written_keys(suite)
        findings.notes += (*suite.notes, *passed, *draft.notes, *written)
    findings.notes += quarantines.ends(jobs)
    for provider in providers:
        findings.notes += provider.notes
    findings.mistakes += models.prices(limits, jobs)
    is_empty = not settings.listing and not any(job.assertions for job in jobs)
    if is_empty and not findings.mistakes:
        where = Origin(drafts[0].binder.suite.file) if len(drafts) == 1 else None
        cures = (cure_for_variable(job.case.vars) for job in jobs)
        cure = next(filter(None, cures), "add `assert`")
        what = "no test has an assertion, so nothing would be checked"
        findings.mistakes.append(Mistake(what, where, cure))
    return findings


def _check_suite(draft: Draft, missing: frozenset[str], settings: Settings) -> None:
    """Add what is found to a draft; ``missing`` are variables that its providers take and that are not set."""
    suite, jobs, mistakes = draft.binder.suite, draft.jobs, draft.mistakes
    is_read = not suite.unread
    for case in draft.cases:
        mistakes += assertions.of_case(case)
    names = Names(
        {name for case in suite.cases for name in case.vars},
        replace(suite.env, missing=missing),
        frozenset(settings.variables),
        partial=draft.answers_given or bool(filters.filter_options(settings)),
    )
    for planned in draft.planned:
        mistakes += models.blind_graders(planned.case, planned.bindings)
        mistakes += models.untooled(planned.bindings, planned.targets)
        mistakes += models.blind_targets(planned.case, planned.targets)
        names.see(planned.case, planned.values, planned.prompts, planned.targets)
    if draft.answers_given or settings.listing:
        mistakes += names.mistakes()
        return
    mistakes += derived_metrics.derived(suite, jobs, is_read)
    if draft.has_all_targets:
        mistakes += assertions.comparisons(jobs)
        mistakes += names.mistakes()
    if not mistakes and is_read:
        mistakes += models.graders(suite)
        mistakes += rules.rules(suite, jobs, filters.options_leaving_out(settings))
        draft.notes += rules.unselected(suite, jobs)
    draft.notes += rules.reasks(suite, jobs)
    draft.notes += assertions.toothless(suite, jobs)
    draft.notes += assertions.warnings(jobs, draft.cases)
    draft.notes += names.notes()
