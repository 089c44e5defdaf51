"""What the command line changes in a suite: other targets and graders, more variables and assertions."""

import re
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

from gradegate.assertions.grading.evaluator import two_part_type
from gradegate.assertions.judge.form import parse_number
from gradegate.config import providers as specs
from gradegate.config.dialect import Source
from gradegate.core.assertion import Assertion
from gradegate.core.numbers import format_count
from gradegate.core.policy import Note
from gradegate.core.provider_spec import ProviderSpec
from gradegate.core.settings import Settings
from gradegate.core.suite import Suite
from gradegate.errors import ConfigError, Origin, gather_mistakes
from gradegate.registry import suggest
from gradegate.sandbox.evaluate import LimitExceeded
from gradegate.structs import FrozenStruct, replace
from gradegate.templating.regex import match_texts

_NAME = re.compile(r"[a-z][a-z0-9-]*")
_FORM = re.compile(r"(?:\(([^()]*)\))?(?::(.*))?", re.DOTALL)

Reader = Callable[[Any, Source, Origin], list[ProviderSpec]]


def apply_overrides(suite: Suite, source: Source, settings: Settings) -> Suite:
    """The suite with the models that the settings name, and of its targets those that the filter keeps.

    A suite that is left without a target says so. A name or an id of a target of the config is that target with its settings,
    as far as targets are named. Graders may name each target of the config, asked or not.
    """
    here = replace(
        source, path=settings.cwd / source.path.name
    )  # files are named from where the command is started
    mistakes = []
    if suite.targetless and not settings.providers:
        mistakes.append(suite.targetless)

    def read(written: str, origin: Origin, reader: Reader) -> list[ProviderSpec]:
        with gather_mistakes(mistakes):
            return reader(written, here, origin)
        return []

    def named(written: str) -> list[ProviderSpec]:
        own = [spec for spec in suite.targets if written in spec.names]
        return own or read(written, settings.origin_of("provider"), specs.read_targets)

    asked = suite.targets
    if settings.providers:
        asked = tuple(spec for written in settings.providers for spec in named(written))
    notes = []
    if own := sum(spec in asked for spec in suite.targets):
        options = [f"--provider {name}" for name in settings.providers]
        notes += note_on_left_out(own, suite, "provider", options)
    kept = asked
    with gather_mistakes(mistakes):
        kept = _targets(replace(suite, targets=asked), settings, notes)
    graders = {} if settings.is_listing else settings.graders
    return replace(
        suite,
        targets=kept,
        unused_targets=tuple(spec for spec in suite.targets if spec not in kept),
        option_graders={
            kind: found[0]
            for kind, name in graders.items()
            if (found := read(name, settings.origin_of("grader"), specs.read_providers))
        },
        notes=(*suite.notes, *notes),
        mistakes=(*suite.mistakes, *mistakes),
    )


Matches = Callable[[Sequence[str]], bool]


class Selector(FrozenStruct):
    """A key of `select`, the option as messages name it, and whether one of the key's globs matches one of some texts."""

    key: str
    option: str
    matches: Matches


def selectors(settings: Settings) -> Iterator[Selector]:
    """One for each key."""
    globs: dict[str, list[str]] = {}
    for key, glob in settings.select:
        globs.setdefault(key, []).append(glob)
    for key, patterns in globs.items():
        option = "<--select> " + " or ".join(repr(f"{key}={glob}") for glob in patterns)
        yield Selector(key, option, partial(_match_globs, patterns))


def _match_globs(globs: Sequence[str], texts: Sequence[str]) -> bool:
    return any(text and fnmatchcase(text, glob) for text in texts for glob in globs)


def _has_name(matches: Matches, spec: ProviderSpec) -> bool:
    return matches(spec.names)


def provider_filters(settings: Settings) -> Iterator[tuple[str, Callable[[ProviderSpec], bool]]]:
    """The options that choose providers, each with whether it keeps one; all of them must."""
    for selector in selectors(settings):
        if selector.key == "provider":
            yield selector.option, partial(_has_name, selector.matches)
    if pattern := settings.filter_providers:
        yield (
            f"--filter-providers {pattern!r}",
            lambda spec: any(match_pattern("--filter-providers", pattern, spec.names)),
        )


def _targets(suite: Suite, settings: Settings, notes: list[Note]) -> tuple[ProviderSpec, ...]:
    """The targets that every filter keeps. Raises ConfigError where there is none."""
    options, kept = [], suite.targets
    for option, keeps in provider_filters(settings):
        options.append(option)
        kept = tuple(spec for spec in kept if keeps(spec))
        if suite.targets and not kept:
            known = ", ".join(f"`{spec.name}`" for spec in suite.targets)
            raise ConfigError.at(
                f"{option} matches no provider of {suite.file}", None, f"the providers are {known}"
            )
    notes += note_on_left_out(len(kept), suite, "provider", options)
    return kept


def with_variables(suite: Suite, settings: Settings) -> Suite:
    """The suite with the variables of the command line in each case that does not set them."""
    if not settings.variables:
        return suite
    given, notes = settings.variables, [*suite.notes]
    # A default test may have taken over what the command line gives.
    cases = []
    for case in suite.cases:
        own = {name: value for name, value in case.vars.items() if value != given.get(name)}
        cases.append(replace(case, vars=own))
    texts = repr((suite.prompts, suite.targets, cases))
    for name in given:  # what changes nothing is said; code in files of its own may use any
        what = f"--var {name} has no effect"
        if cases and all(name in case.vars for case in cases):
            notes.append(Note(f"{what}: every test of {suite.file} sets `{name}` itself"))
        elif name not in texts and "file://" not in texts and "exec:" not in texts:
            what = f"{what}: nothing in {suite.file} uses `{name}`"
            cure = suggest(name, re.findall(r"\{\{-?\s*(\w+)", texts))
            notes.append(Note(f"{what}; {cure}" if cure else what))
    return replace(
        suite,
        notes=tuple(notes),
        cases=tuple(replace(case, vars={**given, **case.vars}) for case in suite.cases),
    )


def parse_assertion(written: str) -> Assertion:
    """``TYPE``, ``TYPE(THRESHOLD)``, ``TYPE:VALUE`` or ``TYPE(THRESHOLD):VALUE``. Raises ConfigError."""
    text = written.strip()
    kind = two_part_type(text) or ((named := _NAME.match(text)) and named[0]) or ""
    match = _FORM.fullmatch(text, len(kind)) if kind else None
    threshold = parse_number(match[1]) if match and match[1] is not None else None
    if match is None or (match[1] is not None and threshold is None):
        cure = "write TYPE, TYPE(THRESHOLD), TYPE:VALUE or TYPE(THRESHOLD):VALUE"
        raise ConfigError.at(f"--assert {written!r} is not an assertion", None, cure)
    return Assertion(kind, match[2], threshold=threshold)


def with_assertions(suite: Suite, written: Sequence[str], option: Origin) -> Suite:
    """The suite with these asserted of each of its cases, at the case's line, else at that of the option. Raises ConfigError."""
    assertions = [parse_assertion(text) for text in written]
    if not assertions:
        return suite
    cases = []
    for case in suite.cases:
        origin = case.origin if case.origin.file else option
        added = [replace(assertion, origin=origin) for assertion in assertions]
        cases.append(replace(case, assertions=(*case.assertions, *added)))
    return replace(suite, cases=tuple(cases))


def match_pattern(option: str, pattern: str, texts: Sequence[str]) -> list[bool]:
    """Which of the texts an option's pattern matches. Raises ConfigError if the pattern cannot be used."""
    try:
        found = match_texts(pattern, texts)
    except LimitExceeded as e:
        raise ConfigError.at(f"{option} cannot be used: {e}", None, "simplify it") from e
    except ValueError as e:
        raise ConfigError.at(f"{option} {e}", None, "correct it") from e
    return [bool(text) and hit for text, hit in zip(texts, found, strict=True)]


def note_on_left_out(kept: int, suite: Suite, noun: str, options: Sequence[str]) -> list[Note]:
    """A note of how many tests or providers the options keep; empty if they keep all."""
    count = len(suite.cases if noun == "test" else suite.targets)
    if not options or kept == count:
        return []
    return [
        Note(
            f"only {kept:,} of {format_count(count, noun)} of {suite.file}, by {', '.join(options)}"
        )
    ]
