"""Finds variables that prompts and values of assertions ask for and that tests do not define."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from msgspec import field

from gradegate.assertions.grading.evaluator import EVALUATORS
from gradegate.assertions.judge.rubric import built_in_variables
from gradegate.config.context import is_vendors_key
from gradegate.core.conversation import CONVERSATION
from gradegate.core.policy import Note
from gradegate.core.provider_spec import PromptSpec, Verbatim
from gradegate.core.suite import Case
from gradegate.errors import Mistake, Origin
from gradegate.planning.plan import with_members
from gradegate.providers.api.provider import Provider
from gradegate.registry import near_miss
from gradegate.security.environment import Environment
from gradegate.security.secrets import belongs_to_runner
from gradegate.structs import FrozenStruct, JsonObject, Struct
from gradegate.templating.template import (
    TemplateError,
    env_variables,
    has_open_braces,
    is_template,
    undefined_names,
    variables_needed,
)

_ALWAYS_DEFINED = frozenset({"env", CONVERSATION})
# Variables that a request has beside those of the test
_REQUEST_VARIABLES = frozenset({"prompt", "messages"})
_CURE_FOR_RUBRIC = "write `{{rubric}}`, which is what the assertion has as `value`"
_UUID_IS_EMPTY = (
    "is filled in with nothing there, as by promptfoo; for an id of each test's own write `{{uuid}}`, and "
    "`defaultTest: {options: {transformVars: '({...vars, uuid: context.uuid})'}}`"
)
# `{{ uuid }}`, `{{ context.uuid }}`
_UUID = re.compile(r"\{\{-?\s*(context(?=\.uuid\b)|uuid)(?:\.uuid)?\s*-?\}\}")


class _Template(FrozenStruct):
    """Texts of a config that are filled in for cases."""

    name: str  # as messages call it
    origin: Origin
    texts: tuple[str, ...]
    extra_variables: frozenset[str] = frozenset()  # beside those of the test
    is_request: bool = False  # it is in the config of a provider, and is sent to it
    comments: bool = True  # whether it may contain comments of the template language


class VariableCheck(Struct):
    """Looks at all templates that are filled in for the cases of one suite, then yields mistakes and notes."""

    defined: set[str]  # variables of any test of the suite
    env: Environment = Environment()
    option_variables: frozenset[str] = frozenset()  # of the command line
    is_partial: bool = False  # not every test is planned, so others may define a variable
    uses: Counter[_Template] = field(default_factory=Counter)  # how often it is filled in
    # How often it is filled in without a variable that it asks for
    lacks: Counter[tuple[_Template, str]] = field(default_factory=Counter)
    # What a template lacks in cases with these variables; None if it asks for nothing
    cache: dict[tuple[_Template, tuple[str, ...]], frozenset[str] | None] = {}
    text_notes: dict[Note, None] = {}  # in the order of the tests, each once
    env_mistakes: dict[Mistake, None] = {}  # variables of the environment that texts must not show

    def look_at(
        self,
        case: Case,
        values: JsonObject,
        prompts: Iterable[PromptSpec],
        targets: Iterable[Provider],
    ) -> None:
        """Look at the variables of a case, and at the prompts, requests and values that they are filled into.

        ``values`` is one combination of the variables of the case.
        """
        for name, value in case.vars.items():
            if not isinstance(value, str) or "{" in value:
                self._check_environment(f"the variable `{name}`", case.origin, _find_texts(value))
        self._note_undefined_references(case, values)

        templates: list[_Template] = []
        if not case.is_recorded:
            templates += self._prompt_templates(case, prompts)
            templates += map(_request_template, targets)
        templates += _case_templates(case)
        names = tuple(values)
        for template in templates:
            key = template, names
            if key not in self.cache:
                self.cache[key] = self._lacking(template, values)
            lacking = self.cache[key]
            if lacking is not None:
                self.uses[template] += 1
                self.lacks.update((template, name) for name in sorted(lacking))

    def _note_undefined_references(self, case: Case, values: JsonObject) -> None:
        """Note each name in a variable that no variable has."""
        for name, value in values.items():
            if isinstance(value, str) and "{" in value:
                with suppress(TemplateError):  # a mistake where the value is filled in
                    for undefined in sorted(undefined_names(value, values)):
                        text = f"the variable `{name}` refers to `{undefined}`, which is not defined, so the text stays as it is"
                        self.text_notes[Note(text, case.origin)] = None

    def _prompt_templates(self, case: Case, prompts: Iterable[PromptSpec]) -> Iterator[_Template]:
        if case.turns:
            return
        for prompt in prompts:
            source = case.options.prefix + prompt.text + case.options.suffix
            if has_open_braces(source):
                text = "the prompt has braces that are not closed on their line, so it is sent unchanged, as in promptfoo"
                self.text_notes[Note(text, prompt.origin)] = None
            else:
                yield _Template("the prompt", prompt.origin, (source,), comments=False)

    def _lacking(self, template: _Template, values: JsonObject) -> frozenset[str] | None:
        """The variables that a template asks for and these values lack; None if it asks for nothing."""
        texts = template.texts
        if not any(map(is_template, texts)):
            return None
        if template.is_request:
            # It may show the environment, and its other templates were checked when the provider was built.
            texts = self._without_uuids(template, values)
        else:
            self._check_environment(template.name, template.origin, texts)

        names = set[str]()
        try:
            for text in texts:
                names |= variables_needed(text, comments=template.comments)
        except TemplateError:  # a mistake where the text is filled in
            return None
        if not names:
            return None
        return frozenset(names - _ALWAYS_DEFINED - template.extra_variables - values.keys())

    def _without_uuids(self, template: _Template, values: JsonObject) -> tuple[str, ...]:
        """The texts without ids that no variable has. A note says what happens to each."""
        expressions = set()
        for text in template.texts:
            for match in _UUID.finditer(text):
                if match[1] not in values:
                    expressions.add(match[0])

        texts = template.texts
        for expression in sorted(expressions):
            note = f"{template.name}: `{expression}` {_UUID_IS_EMPTY}"
            self.text_notes[Note(note, template.origin)] = None
            texts = tuple(text.replace(expression, "") for text in texts)
        return texts

    def _check_environment(self, name: str, origin: Origin, texts: Sequence[str]) -> None:
        """Note a mistake for each variable of the environment that texts outside a provider's config must not show."""
        if "env" not in "".join(texts):
            return
        try:
            variables, _ = env_variables(texts)
        except TemplateError:
            return
        for variable in sorted(filter(self._is_closed, variables)):
            cure = f"allow it: <--allowed-env {variable}>"
            if belongs_to_runner(variable):
                cure = "remove it: it is the runner's own"
            elif is_vendors_key(variable):
                cure = (
                    "remove it: a vendor's key is never allowed in a text, even with `allowed-env`"
                )
            what = f"{name} shows the environment's {variable}, allowed only in a provider's config"
            self.env_mistakes[Mistake(what, origin, cure)] = None

    def _is_closed(self, variable: str) -> bool:
        """Whether texts must not show a variable. A vendor's key is closed even if it is not set."""
        if self.env.is_closed(variable):
            return True
        return variable not in self.env.literals and is_vendors_key(variable)

    def mistakes(self) -> Iterator[Mistake]:
        """Variables that no case with the template defines, and variables of the environment that are closed."""
        yield from self.env_mistakes
        for (template, name), count in self.lacks.items():
            if count < self.uses[template] or (self.is_partial and name in self.defined):
                continue
            lack = (
                "which its test does not define"
                if name in self.defined
                else "which no test defines"
            )
            what = f"{template.name} asks for the variable `{name}`, {lack}"
            similar = near_miss(name, {*self.defined, *template.extra_variables} - {name})
            if name == "value" and "rubric" in template.extra_variables:
                cure = _CURE_FOR_RUBRIC
            elif similar in self.option_variables:
                cure = f"did you mean `--var {name}=...`?"
            elif similar:
                cure = f'did you mean "{similar}"?'
            else:
                cure = f"write `defaultTest: {{vars: {{{name}: ...}}}}`, or add `{name}` to the `vars` of the test"
            yield Mistake(what, template.origin, cure)

    def notes(self) -> Iterator[Note]:
        """Variables that only some cases define, and texts that stay as they are."""
        for (template, name), count in self.lacks.items():
            uses = self.uses[template]
            if count < uses:
                what = f"{template.name} asks for the variable `{name}`, which {count} of {uses} cases lack"
                yield Note(what, template.origin)
        yield from self.text_notes


def _request_template(target: Provider) -> _Template:
    name = f"the request of `{target.name}`"
    return _Template(name, target.origin, target.templates, _REQUEST_VARIABLES, is_request=True)


def _case_templates(case: Case) -> Iterator[_Template]:
    """The templates in the values and grading prompts of a case."""
    prompts = [("the test", case.origin, case.options.rubric_prompt)]
    for assertion in with_members(case.assertions):
        name = f"`{assertion.type}`"
        prompts.append((name, assertion.origin, assertion.rubric_prompt))
        texts = tuple(filter(is_template, _find_texts(assertion.value)))
        if texts:
            kind = EVALUATORS.find(assertion.type.removeprefix("not-"))
            # A text that is compared with the answer has no comments.
            comments = kind is None or "text" not in kind.requires.models
            yield _Template(f"the value of {name}", assertion.origin, texts, comments=comments)
    for name, origin, prompt in prompts:
        if prompt:
            texts = tuple(_find_texts(prompt, nested=True))
            # A prompt may serve several assertion types, so it may use the variables of each.
            yield _Template(
                f"the `rubricPrompt` of {name}", origin, texts, built_in_variables(), comments=False
            )


def _find_texts(value: Any, nested: bool = False) -> list[str]:
    """The texts in a value that may be templates; with ``nested`` also those in mappings, which are data elsewhere."""
    if isinstance(value, Verbatim):
        return []
    if isinstance(value, str):
        return [value]
    if nested and isinstance(value, Mapping):
        value = list(value.values())
    if not isinstance(value, list | tuple):
        return []
    texts = []
    for item in value:
        texts += _find_texts(item, nested)
    return texts
