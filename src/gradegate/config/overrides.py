"""Applies the options of the command line to a suite: variables, targets, graders and assertions."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase

from gradegate.assertions.grading.evaluator import two_part_type
from gradegate.assertions.judge.form import parse_number
from gradegate.config.dialect import Source
from gradegate.config.providers import read_providers, read_targets
from gradegate.core.assertion import Assertion
from gradegate.core.numbers import format_count
from gradegate.core.policy import Note
from gradegate.core.provider_spec import ProviderSpec
from gradegate.core.settings import Settings
from gradegate.core.suite import Case, Suite
from gradegate.errors import ConfigError, Mistake, gather_mistakes
from gradegate.registry import suggest
from gradegate.sandbox.evaluate import LimitExceeded
from gradegate.structs import FrozenStruct, replace
from gradegate.templating.regex import match_texts

_TYPE = re.compile(r"[a-z][a-z0-9-]*")
_THRESHOLD_AND_VALUE = re.compile(r"(?:\(([^()]*)\))?(?::(.*))?", re.DOTALL)

Matches = Callable[[Sequence[str]], bool]  # whether one of some texts is meant


def apply_overrides(suite: Suite, source: Source, settings: Settings) -> Suite:
    """Apply the options to a suite. Raises ConfigError for an option that cannot be read.

    Mistakes about providers are added to those of the suite.
    """
    suite = _with_variables(suite, settings)
    suite = _with_models(suite, source, settings)
    suite = _with_assertions(suite, settings)
    return replace(
        suite, policy=suite.policy.with_defaults(settings.reask, bool(settings.baseline))
    )


# --- variables --------------------------------------------------------------------------------------------


def _with_variables(suite: Suite, settings: Settings) -> Suite:
    """Add the variables of the command line to each case that does not set them."""
    variables = settings.variables
    if not variables:
        return suite

    # A default test may have taken over a variable of the command line. Then the case does not set it.
    written_cases = []
    for case in suite.cases:
        written = {name: value for name, value in case.vars.items() if value != variables.get(name)}
        written_cases.append(replace(case, vars=written))

    notes = tuple(_notes_on_unused_variables(suite, written_cases, variables))
    cases = tuple(replace(case, vars={**variables, **case.vars}) for case in suite.cases)
    return replace(suite, notes=(*suite.notes, *notes), cases=cases)


def _notes_on_unused_variables(
    suite: Suite, written_cases: Sequence[Case], variables: Iterable[str]
) -> Iterator[Note]:
    """Note each variable of the command line without effect. ``written_cases`` have only their own variables."""
    texts = repr((suite.prompts, suite.targets, written_cases))
    may_have_code = "file://" in texts or "exec:" in texts  # which may use any variable
    for name in variables:
        what = f"--var {name} has no effect"
        if written_cases and all(name in case.vars for case in written_cases):
            yield Note(f"{what}: every test of {suite.file} sets `{name}` itself")
        elif name not in texts and not may_have_code:
            what = f"{what}: nothing in {suite.file} uses `{name}`"
            cure = suggest(name, re.findall(r"\{\{-?\s*(\w+)", texts))
            yield Note(f"{what}; {cure}" if cure else what)


# --- targets and graders ----------------------------------------------------------------------------------


def _with_models(suite: Suite, source: Source, settings: Settings) -> Suite:
    """Use the targets and graders that the options name, and of the targets only those that the filters keep."""
    # Files in an option are relative to the folder where the command is started.
    source = replace(source, path=settings.cwd / source.path.name)
    mistakes: list[Mistake] = []
    notes: list[Note] = []

    if suite.targetless and not settings.providers:
        mistakes.append(suite.targetless)

    targets = suite.targets
    if settings.providers:
        targets = _read_option_targets(suite, source, settings, mistakes)
    config_targets = sum(target in targets for target in suite.targets)
    if config_targets:
        options = [f"--provider {name}" for name in settings.providers]
        notes += notes_on_left_out(config_targets, suite, "provider", options)

    with gather_mistakes(mistakes):
        targets = _filter_targets(replace(suite, targets=targets), settings, notes)

    graders = {}
    if not settings.is_listing:
        graders = _read_option_graders(source, settings, mistakes)
    return replace(
        suite,
        targets=targets,
        unused_targets=tuple(target for target in suite.targets if target not in targets),
        option_graders=graders,
        notes=(*suite.notes, *notes),
        mistakes=(*suite.mistakes, *mistakes),
    )


def _read_option_targets(
    suite: Suite, source: Source, settings: Settings, mistakes: list[Mistake]
) -> tuple[ProviderSpec, ...]:
    """The targets that ``--provider`` names. Targets with a mistake are left out, and their mistakes are added."""
    targets: list[ProviderSpec] = []
    origin = settings.origin_of("provider")
    for name in settings.providers:
        # A name or an id of a target of the config means this target with its settings.
        config_targets = [target for target in suite.targets if name in target.names]
        with gather_mistakes(mistakes):
            targets += config_targets or read_targets(name, source, origin)
    return tuple(targets)


def _read_option_graders(
    source: Source, settings: Settings, mistakes: list[Mistake]
) -> dict[str, ProviderSpec]:
    """The graders by kind that ``--grader`` names. Graders with a mistake are left out, and their mistakes are added."""
    graders = {}
    for kind, name in settings.graders.items():
        with gather_mistakes(mistakes):
            specs = read_providers(name, source, settings.origin_of("grader"))
            if specs:
                graders[kind] = specs[0]
    return graders


def _filter_targets(
    suite: Suite, settings: Settings, notes: list[Note]
) -> tuple[ProviderSpec, ...]:
    """The targets that every filter keeps. Adds a note on the others. Raises ConfigError if none of them is kept."""
    options = []
    targets = suite.targets
    for option, keeps in provider_filters(settings):
        options.append(option)
        targets = tuple(target for target in targets if keeps(target))
        if suite.targets and not targets:
            names = ", ".join(f"`{target.name}`" for target in suite.targets)
            what = f"{option} matches no provider of {suite.file}"
            raise ConfigError.at(what, None, f"the providers are {names}")
    notes += notes_on_left_out(len(targets), suite, "provider", options)
    return targets


def provider_filters(settings: Settings) -> Iterator[tuple[str, Callable[[ProviderSpec], bool]]]:
    """The options that filter providers, each with a test whether it keeps a provider. A provider must pass all."""
    for selector in selectors(settings):
        if selector.key == "provider":
            yield selector.option, selector.matches_provider
    pattern = settings.filter_providers
    if pattern:

        def matches_pattern(spec: ProviderSpec) -> bool:
            return any(match_pattern("--filter-providers", pattern, spec.names))

        yield f"--filter-providers {pattern!r}", matches_pattern


class Selector(FrozenStruct):
    """A key of `select` with its globs, and the option as messages write it."""

    key: str
    globs: tuple[str, ...]
    option: str

    def matches(self, texts: Sequence[str]) -> bool:
        """Whether a glob matches one of the texts. An empty text matches nothing."""
        return any(text and fnmatchcase(text, glob) for text in texts for glob in self.globs)

    def matches_provider(self, spec: ProviderSpec) -> bool:
        """Whether a glob matches a name or the id of the provider."""
        return self.matches(spec.names)


def selectors(settings: Settings) -> Iterator[Selector]:
    """The ``--select`` options: one selector for each key."""
    globs_by_key: dict[str, list[str]] = {}
    for key, glob in settings.select:
        globs_by_key.setdefault(key, []).append(glob)
    for key, globs in globs_by_key.items():
        option = "<--select> " + " or ".join(repr(f"{key}={glob}") for glob in globs)
        yield Selector(key, tuple(globs), option)


def match_pattern(option: str, pattern: str, texts: Sequence[str]) -> list[bool]:
    """Which of the texts an option's pattern matches. Raises ConfigError if the pattern cannot be used."""
    try:
        matches = match_texts(pattern, texts)
    except LimitExceeded as e:
        raise ConfigError.at(f"{option} cannot be used: {e}", None, "simplify it") from e
    except ValueError as e:
        raise ConfigError.at(f"{option} {e}", None, "correct it") from e
    return [bool(text) and is_match for text, is_match in zip(texts, matches, strict=True)]


def notes_on_left_out(kept: int, suite: Suite, noun: str, options: Sequence[str]) -> list[Note]:
    """A note of how many tests or providers the options keep; empty if they keep all."""
    count = len(suite.cases if noun == "test" else suite.targets)
    if not options or kept == count:
        return []
    total = format_count(count, noun)
    return [Note(f"only {kept:,} of {total} of {suite.file}, by {', '.join(options)}")]


# --- assertions -------------------------------------------------------------------------------------------


def _with_assertions(suite: Suite, settings: Settings) -> Suite:
    """Add the assertions of the command line to each case. Raises ConfigError."""
    assertions = [parse_assertion(text) for text in settings.assertions]
    if not assertions:
        return suite
    cases = []
    for case in suite.cases:
        origin = case.origin if case.origin.file else settings.origin_of("assert")
        added = [replace(assertion, origin=origin) for assertion in assertions]
        cases.append(replace(case, assertions=(*case.assertions, *added)))
    return replace(suite, cases=tuple(cases))


def parse_assertion(written: str) -> Assertion:
    """Parse ``TYPE``, ``TYPE(THRESHOLD)``, ``TYPE:VALUE`` or ``TYPE(THRESHOLD):VALUE``. Raises ConfigError."""
    cure = "write TYPE, TYPE(THRESHOLD), TYPE:VALUE or TYPE(THRESHOLD):VALUE"
    refusal = ConfigError.at(f"--assert {written!r} is not an assertion", None, cure)
    text = written.strip()

    # A few types are two words, joined by a colon: `similar:dot`.
    kind = two_part_type(text)
    if not kind:
        match = _TYPE.match(text)
        if match is None:
            raise refusal
        kind = match[0]

    rest = _THRESHOLD_AND_VALUE.fullmatch(text, len(kind))
    if rest is None:
        raise refusal
    threshold = None
    if rest[1] is not None:
        threshold = parse_number(rest[1])
        if threshold is None:
            raise refusal
    return Assertion(kind, rest[2], threshold=threshold)
