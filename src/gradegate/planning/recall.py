"""Answers that a test stores under a name (``storeOutputAs``) for the tests after it, which are filled in once they are there.

As in promptfoo, a stored answer wins over a variable of its name. It is data: no template in it is filled in.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from gradegate.assertions.grading.bound import BoundSet
from gradegate.core.assertion import Assertion
from gradegate.core.provider_spec import PromptSpec, Verbatim
from gradegate.core.suite import Case
from gradegate.errors import ConfigError, ProviderError, Trouble
from gradegate.files.documents import to_json
from gradegate.planning.binding.assertions import Subject, bind
from gradegate.planning.binding.models import ModelBinder
from gradegate.planning.plan import Job, Recall, Render
from gradegate.structs import JsonObject, replace
from gradegate.templating import chat_prompt as chat
from gradegate.templating.template import fill_prompt, is_template, mentioned_names, render

OPTION = "storeOutputAs"


def stores(case: Case) -> str:
    """The name under which the answer of a test is stored; empty for none. Raises ConfigError."""
    name = case.options.settings.get(OPTION) or ""
    if name and not (isinstance(name, str) and name.isidentifier()):
        what = f"`{OPTION}` is not the name of a variable"
        raise ConfigError.at(what, case.origin, "write letters, digits and _")
    return str(name)


def used(case: Case, prompts: Iterable[PromptSpec], stored: Iterable[str]) -> tuple[str, ...]:
    """The stored names of which anything that a case fills in speaks."""
    names = tuple(stored)
    if not names:
        return ()
    options = case.options
    texts = [prompt.text for prompt in prompts] + [options.prefix, options.suffix]
    data = [case.vars, *map(_texts, case.assertions), options.rubric_prompt]
    whole = "\n".join([*texts, *map(to_json, data)])
    return tuple(name for name in names if name in whole)


def _texts(assertion: Assertion) -> list[Any]:
    inner = [_texts(member) for member in assertion.members]
    return [assertion.value, assertion.metric, assertion.rubric_prompt, inner]


def placeholders(names: Iterable[str]) -> Mapping[str, Verbatim]:
    """What stands for stored answers in a plan: the templates that ask for them."""
    return {name: Verbatim(f"{{{{{name}}}}}") for name in names}


def values(planned: JsonObject, stored: Mapping[str, str], env: JsonObject) -> JsonObject:
    """The variables of a case with stored answers, put into those that ask for one. Raises TemplateError and Exceeded."""
    known = {**planned, **{name: Verbatim(text) for name, text in stored.items()}}
    asking = {
        name: Verbatim(render(value, {"env": env, **known}))
        for name, value in planned.items()
        if name not in stored and isinstance(value, str) and not isinstance(value, Verbatim)
        if is_template(value) and not stored.keys().isdisjoint(mentioned_names(value))
    }
    return {**known, **asking}


def later(
    job: Job,
    names: Sequence[str],
    binder: ModelBinder,
    subject: Subject,
    rerender: Callable[..., Render | None],
) -> Recall:
    """Fills a job in once more, with the answers that are stored under these names; raises where one is missing."""

    def recalled(stored: Mapping[str, str]) -> Job:
        for name in names:
            if name not in stored:  # that it lacks has its own error
                raise ProviderError(
                    f"not asked: there is no answer that was stored as `{name}`", Trouble.STATUS
                )
        case, prompt = job.case, job.prompt
        env = subject.variables["env"]
        filled = values(job.vars, {name: stored[name] for name in names}, env)
        known = replace(subject, variables={"env": env, **filled})
        bindings = [bind(binder, spec, known) for spec in case.assertions]
        text = fill_prompt(
            case.options.prefix + prompt.text + case.options.suffix, {"env": env, **filled}
        )
        if chat.chat_mistake(text):
            cure = "write {{ name | dump }} without quotes around it"
            raise ConfigError.at(
                "the prompt is not valid JSON once a stored answer is in it", prompt.origin, cure
            )
        return replace(
            job,
            text=text,
            vars=filled,
            assertions=tuple(map(_like, bindings, job.assertions)),
            render=rerender(case, prompt, filled),
        )

    return Recall(tuple(names), recalled)


def _like(new: Any, old: Any) -> Any:
    """An assertion that was filled in later, called as it is in the plan."""
    asserted = replace(new.asserted, key=old.asserted.key, definition=old.asserted.definition)
    if isinstance(new, BoundSet):
        return replace(new, asserted=asserted, bounds=tuple(map(_like, new.bounds, old.bounds)))
    return replace(new, asserted=asserted)
