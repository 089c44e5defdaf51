"""Finds variables that prompts and the values of assertions ask for and that tests do not define."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any

from msgspec import field

from gradegate.assertions.grading.evaluator import GRADERS
from gradegate.assertions.judge.rubric import built_in
from gradegate.config.context import is_vendors_key
from gradegate.core.assertion import Assertion
from gradegate.core.conversation import CONVERSATION
from gradegate.core.policy import Note
from gradegate.core.provider_spec import PromptSpec, Verbatim
from gradegate.core.suite import Case
from gradegate.errors import Mistake, Origin
from gradegate.providers.api.provider import Provider
from gradegate.registry import near
from gradegate.security.environment import Environment
from gradegate.security.secrets import is_runners
from gradegate.structs import FrozenStruct, JsonObject, Struct
from gradegate.templating.template import (
    TemplateError,
    env_variables,
    is_template,
    is_unchanged,
    undefined_names,
    variables_needed,
)

_ALWAYS = frozenset({"env", CONVERSATION})
_SENT = frozenset({"prompt", "messages"})  # what a request has beside the variables
_RUBRIC = "write `{{rubric}}`, which is what the assertion has as `value`"
_UUID = (
    "is filled in with nothing there, as by promptfoo; for an id of each test's own write `{{uuid}}`, and "
    "`defaultTest: {options: {transformVars: '({...vars, uuid: context.uuid})'}}`"
)
_OF_UUID = re.compile(r"\{\{-?\s*(context(?=\.uuid\b)|uuid)(?:\.uuid)?\s*-?\}\}")


class _Template(FrozenStruct):
    """Texts of a config that are filled in for cases; ``added`` is what they may ask for beside the variables."""

    what: str
    origin: Origin
    texts: tuple[str, ...]
    added: frozenset[str] = frozenset()
    comments: bool = True  # whether what looks like a comment of a template is one


class Names(Struct):
    """Looks at the templates that are filled in for the cases of one suite."""

    defined: set[str]  # by any test of the suite
    env: Environment = Environment()
    given: frozenset[str] = frozenset()  # by the command line
    partial: bool = False  # not every test is planned, so what is not defined may be elsewhere
    times: Counter[_Template] = field(default_factory=Counter)  # that it is filled in
    lacking: Counter[tuple[_Template, str]] = field(default_factory=Counter)  # without a variable
    # What cases with these variables lack; None where a template asks for nothing
    known: dict[tuple[_Template, tuple[str, ...]], frozenset[str] | None] = {}
    left: dict[Note, None] = {}  # in the order of the tests, each once
    closed: dict[Mistake, None] = {}  # variables of the environment that texts may not show

    def see(
        self,
        case: Case,
        values: JsonObject,
        prompts: Iterable[PromptSpec],
        targets: Iterable[Provider],
    ) -> None:
        """The prompts that a case fills in (a recorded answer fills in none), and the values of its assertions."""
        for name, value in case.vars.items():
            if not isinstance(value, str) or "{" in value:
                self._look(f"the variable `{name}`", case.origin, _texts(value))
        for name, value in values.items():
            if not isinstance(value, str) or "{" not in value:
                continue
            with suppress(TemplateError):  # said where it is filled in
                for other in sorted(undefined_names(value, values)):
                    text = f"the variable `{name}` refers to `{other}`, which is not defined, so the text stays as it is"
                    self.left[Note(text, case.origin)] = None
        templates = _templates(case)
        if not case.recorded:
            templates = chain(self._prompts(case, prompts), map(_request, targets), templates)
        names = tuple(values)
        for template in templates:
            if (template, names) not in self.known:  # cases with the same variables lack the same
                self.known[template, names] = self._lacking(template, values)
            lacking = self.known[template, names]
            if lacking is not None:
                self.times[template] += 1
                self.lacking.update((template, name) for name in sorted(lacking))

    def _prompts(self, case: Case, prompts: Iterable[PromptSpec]) -> Iterator[_Template]:
        for prompt in prompts if not case.turns else ():
            source = case.options.prefix + prompt.text + case.options.suffix
            if is_unchanged(source):
                text = "the prompt has braces that are not closed on their line, so it is sent unchanged, as in promptfoo"
                self.left[Note(text, prompt.origin)] = None
            else:
                yield _Template("the prompt", prompt.origin, (source,), comments=False)

    def _lacking(self, template: _Template, values: JsonObject) -> frozenset[str] | None:
        """The variables that a template asks for and these values lack; None if it asks for nothing."""
        what, origin, texts = template.what, template.origin, template.texts
        if not any(map(is_template, texts)):
            return None
        if template.added is _SENT:  # a provider's config reads more, and was looked at when bound
            found = (it for text in texts for it in _OF_UUID.finditer(text))
            for expression in sorted({it[0] for it in found if it[1] not in values}):
                self.left[Note(f"{what}: `{expression}` {_UUID}", origin)] = None
                texts = tuple(text.replace(expression, "") for text in texts)
        else:
            self._look(what, origin, texts)
        try:
            asked = frozenset().union(
                *(variables_needed(it, comments=template.comments) for it in texts)
            )
        except TemplateError:  # said where it is filled in
            return None
        return asked - _ALWAYS - template.added - values.keys() if asked else None

    def _look(self, what: str, origin: Origin, texts: Sequence[str]) -> None:
        """Whether texts outside a provider's config show a variable of the environment that is closed to them."""
        try:
            names = env_variables(texts)[0] if "env" in "".join(texts) else ()
        except TemplateError:
            return
        for name in sorted(filter(self._is_closed, names)):
            cure = f"allow it: <--allowed-env {name}>"
            if is_runners(name):
                cure = "remove it: it is the runner's own"
            elif is_vendors_key(name):
                cure = (
                    "remove it: a vendor's key is never allowed in a text, even with `allowed-env`"
                )
            shows = f"{what} shows the environment's {name}, allowed only in a provider's config"
            self.closed[Mistake(shows, origin, cure)] = None

    def _is_closed(self, name: str) -> bool:
        """Whether texts may not show a variable: a vendor's key also where nobody set it."""
        is_own = name in self.env.literals
        return self.env.is_closed(name) or (not is_own and is_vendors_key(name))

    def mistakes(self) -> Iterator[Mistake]:
        """A variable that is not defined in any of the cases in which it is asked for, or is closed."""
        yield from self.closed
        for (template, name), count in self.lacking.items():
            if count < self.times[template] or (self.partial and name in self.defined):
                continue
            lacks = "which its test does not define"
            if name not in self.defined:
                lacks = "which no test defines"
            what = f"{template.what} asks for the variable `{name}`, {lacks}"
            likely = near(name, {*self.defined, *template.added} - {name})
            cure = f"write `defaultTest: {{vars: {{{name}: ...}}}}`, or add `{name}` to the `vars` of the test"
            if name == "value" and "rubric" in template.added:
                cure = _RUBRIC
            elif likely in self.given:
                cure = f"did you mean `--var {name}=...`?"
            elif likely:
                cure = f'did you mean "{likely}"?'
            yield Mistake(what, template.origin, cure)

    def notes(self) -> Iterator[Note]:
        """A variable that some cases define and others do not, and values that refer to nobody."""
        for (template, name), count in self.lacking.items():
            times = self.times[template]
            if count < times:
                what = f"{template.what} asks for the variable `{name}`, which {count} of {times} cases lack"
                yield Note(what, template.origin)
        yield from self.left


def _request(target: Provider) -> _Template:
    what = f"the request of `{target.name}`"
    return _Template(what, target.origin, tuple(target.templates), _SENT)


def _templates(case: Case) -> Iterator[_Template]:
    """The values and grading prompts of a case."""
    prompts = [("the test", case.origin, case.options.rubric_prompt)]
    for assertion in _each(case.assertions):
        name, origin = f"`{assertion.type}`", assertion.origin
        prompts.append((name, origin, assertion.rubric_prompt))
        if texts := [text for text in _texts(assertion.value) if is_template(text)]:
            grader = GRADERS.find(assertion.type.removeprefix("not-"))
            # What is compared has no comments.
            compared = grader is None or "text" not in grader.requires.models
            yield _Template(f"the value of {name}", origin, tuple(texts), comments=compared)
    for name, origin, written in prompts:
        if written:  # one prompt may serve several graders, and has the variables of each
            what, nested = f"the `rubricPrompt` of {name}", tuple(_texts(written, nested=True))
            yield _Template(what, origin, nested, built_in(), comments=False)


def _each(assertions: Iterable[Assertion]) -> Iterator[Assertion]:
    for assertion in assertions:
        yield assertion
        yield from _each(assertion.members)


def _texts(value: Any, nested: bool = False) -> list[str]:
    """The templates in a value; ``nested``: those in mappings too, which as values of assertions are data."""
    if isinstance(value, str):
        return [] if isinstance(value, Verbatim) else [value]
    if not isinstance(value, list | tuple) and not (nested and isinstance(value, Mapping)):
        return []
    return [
        text
        for item in (value.values() if isinstance(value, Mapping) else value)
        for text in _texts(item, nested)
    ]
