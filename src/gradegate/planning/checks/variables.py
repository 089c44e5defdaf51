"""Finds variables that prompts and the values of assertions ask for and that tests do not define."""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

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
from gradegate.structs import JsonObject, Struct
from gradegate.templating.template import (
    TemplateError,
    environment,
    is_template,
    is_unchanged,
    needs,
    unknown,
)

_ALWAYS = frozenset({"env", CONVERSATION})
_SENT = frozenset({"prompt", "messages"})  # what a request has beside the variables
_RUBRIC = "write `{{rubric}}`, which is what the assertion has as `value`"
_UUID = (
    "is filled in with nothing there, as by promptfoo; for an id of each test's own write `{{uuid}}`, and "
    "`defaultTest: {options: {transformVars: '({...vars, uuid: context.uuid})'}}`"
)
_OF_UUID = re.compile(r"\{\{-?\s*(context(?=\.uuid\b)|uuid)(?:\.uuid)?\s*-?\}\}")


class _Place(Struct):
    """A template: how often it is filled in, and how often without which variable."""

    what: str
    origin: Origin
    added: frozenset[str] = frozenset()  # what is defined there beside the variables of the tests
    times: int = 0
    without: dict[str, int] = {}


class Names(Struct):
    """Watches templates being filled in for one suite after another case."""

    defined: set[str]  # by any test of the suite
    env: Environment = Environment()
    given: frozenset[str] = frozenset()  # by the command line
    partial: bool = False  # not every test is planned, so what is not defined may be elsewhere
    places: dict[tuple[str, Origin, tuple[str, ...]], _Place] = {}
    known: dict[
        tuple[Any, ...], tuple[_Place, frozenset[str]]
    ] = {}  # by templates and the names of variables
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
                for other in sorted(unknown(value, values)):
                    text = f"the variable `{name}` refers to `{other}`, which is not defined, so the text stays as it is"
                    self.left[Note(text, case.origin)] = None
        if case.recorded:
            prompts = targets = ()
        for prompt in prompts if not case.turns else ():
            source = case.options.prefix + prompt.text + case.options.suffix
            if is_unchanged(source):
                text = "the prompt has braces that are not closed on their line, so it is sent unchanged, as in promptfoo"
                self.left[Note(text, prompt.origin)] = None
            else:
                self._fill("the prompt", prompt.origin, [source], values)
        for target in targets:
            if texts := [*target.templates]:
                self._fill(f"the request of `{target.name}`", target.origin, texts, values, _SENT)
        self._rubric(
            "the `rubricPrompt` of the test", case.origin, case.options.rubric_prompt, values
        )
        for assertion in _each(case.assertions):
            origin = assertion.origin
            if texts := [text for text in _texts(assertion.value) if is_template(text)]:
                grader = GRADERS.find(assertion.type.removeprefix("not-"))
                # What is compared has no comments.
                compared = grader is None or "text" not in grader.requires.models
                what = f"the value of `{assertion.type}`"
                self._fill(what, origin, texts, values, compared=compared)
            what = f"the `rubricPrompt` of `{assertion.type}`"
            self._rubric(what, origin, assertion.rubric_prompt, values)

    def _rubric(self, what: str, origin: Origin, written: Any, values: JsonObject) -> None:
        """A grading prompt has the variables of its grader as well; one prompt may serve several graders."""
        if written:
            self._fill(what, origin, _texts(written, nested=True), values, built_in())

    def _fill(
        self,
        what: str,
        origin: Origin,
        texts: list[str],
        values: JsonObject,
        added: frozenset[str] = frozenset(),
        compared: bool = False,
    ) -> None:
        # Cases with the same variables lack the same ones.
        asked = what, origin, tuple(texts), tuple(values)
        if asked not in self.known:
            self.known[asked] = self._place(what, origin, texts, values, added, compared)
        place, without = self.known[asked]
        place.times += 1
        for name in without:
            place.without[name] = place.without.get(name, 0) + 1

    def _place(
        self,
        what: str,
        origin: Origin,
        texts: list[str],
        values: JsonObject,
        added: frozenset[str],
        compared: bool,
    ) -> tuple[_Place, frozenset[str]]:
        """Where templates stand, and the variables that they ask for and these values lack."""
        nowhere = _Place(what, origin), frozenset[str]()
        if not any(map(is_template, texts)):
            return nowhere
        if added is not _SENT:
            # A provider's config reads more, and was looked at when it was bound.
            self._look(what, origin, texts)
        else:
            blank = {
                it[0] for text in texts for it in _OF_UUID.finditer(text) if it[1] not in values
            }
            for expression in sorted(blank):
                self.left[Note(f"{what}: `{expression}` {_UUID}", origin)] = None
                texts = [text.replace(expression, "") for text in texts]
        try:
            asked = frozenset().union(
                *(needs(text, comments=compared or added is _SENT) for text in texts)
            )
        except TemplateError:
            return nowhere  # said where it is filled in
        if not asked:
            return nowhere
        key = what, origin, tuple(texts)
        place = self.places.get(key) or self.places.setdefault(key, _Place(what, origin, added))
        return place, asked - _ALWAYS - added - values.keys()

    def _look(self, what: str, origin: Origin, texts: list[str]) -> None:
        """Whether texts outside a provider's config show a variable of the environment that is closed to them."""
        try:
            names = environment(texts)[0] if "env" in "".join(texts) else ()
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
        for place in self.places.values():
            for name, count in sorted(place.without.items()):
                if count == place.times and not (self.partial and name in self.defined):
                    lacks = "which its test does not define"
                    if name not in self.defined:
                        lacks = "which no test defines"
                    what = f"{place.what} asks for the variable `{name}`, {lacks}"
                    likely = near(name, {*self.defined, *place.added} - {name})
                    cure = f"write `defaultTest: {{vars: {{{name}: ...}}}}`, or add `{name}` to the `vars` of the test"
                    if name == "value" and "rubric" in place.added:
                        cure = _RUBRIC
                    elif likely in self.given:
                        cure = f"did you mean `--var {name}=...`?"
                    elif likely:
                        cure = f'did you mean "{likely}"?'
                    yield Mistake(what, place.origin, cure)

    def notes(self) -> Iterator[Note]:
        """A variable that some cases define and others do not, and values that refer to nobody."""
        for place in self.places.values():
            for name, count in sorted(place.without.items()):
                if count < place.times:
                    what = f"{place.what} asks for the variable `{name}`, which {count} of {place.times} cases lack"
                    yield Note(what, place.origin)
        yield from self.left


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
