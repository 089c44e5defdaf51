"""Stored answers: a test stores its answer under a name (``storeOutputAs``), and later tests use it like a variable.

As in promptfoo, a stored answer replaces a variable with its name. It is data: templates in it are not filled in.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gradegate.assertions.grading.bound import Binding, BoundSet
from gradegate.core.provider_spec import PromptSpec, Verbatim
from gradegate.core.suite import Case
from gradegate.errors import ConfigError, ProviderError, Trouble
from gradegate.files.documents import to_json
from gradegate.planning.binding.assertions import Subject, bind_assertion
from gradegate.planning.binding.graders import GraderBinder
from gradegate.planning.plan import Job, Recall, with_members
from gradegate.planning.variables import Prompts
from gradegate.structs import JsonObject, replace
from gradegate.templating.chat_prompt import chat_mistake
from gradegate.templating.template import fill_prompt, is_template, mentioned_names, render

OPTION = "storeOutputAs"


def stored_name(case: Case) -> str:
    """The name under which the answer of a test is stored; empty if it is not stored. Raises ConfigError."""
    name = case.options.settings.get(OPTION) or ""
    if name and not (isinstance(name, str) and name.isidentifier()):
        what = f"`{OPTION}` is not the name of a variable"
        raise ConfigError.at(what, case.origin, "write letters, digits and _")
    return str(name)


def used_names(
    case: Case, prompts: Iterable[PromptSpec], stored_names: Iterable[str]
) -> tuple[str, ...]:
    """The stored names that occur in anything that is filled in for a case."""
    names = tuple(stored_names)
    if not names:
        return ()
    options = case.options
    texts = [prompt.text for prompt in prompts]
    texts += [options.prefix, options.suffix, to_json(options.rubric_prompt), to_json(case.vars)]
    for assertion in with_members(case.assertions):
        texts += map(to_json, (assertion.value, assertion.metric, assertion.rubric_prompt))
    text = "\n".join(texts)
    return tuple(name for name in names if name in text)


def placeholders(names: Iterable[str]) -> Mapping[str, Verbatim]:
    """What a plan shows in place of stored answers: the templates that use them."""
    return {name: Verbatim(f"{{{{{name}}}}}") for name in names}


def with_stored_answers(
    values: JsonObject, stored: Mapping[str, str], env: JsonObject
) -> JsonObject:
    """The variables of a case with stored answers, filled into those that use one. Raises TemplateError and Exceeded."""
    answers = {name: Verbatim(text) for name, text in stored.items()}
    result = {**values, **answers}
    variables = {"env": env, **result}
    for name, value in values.items():
        if name in stored or not isinstance(value, str) or isinstance(value, Verbatim):
            continue
        if is_template(value) and not stored.keys().isdisjoint(mentioned_names(value)):
            result[name] = Verbatim(render(value, variables))
    return result


def prepare_recall(
    job: Job, names: Sequence[str], graders: GraderBinder, subject: Subject, prompts: Prompts
) -> Recall:
    """A function that fills the stored answers with these names into a job; it raises if one is missing."""

    def fill(stored: Mapping[str, str]) -> Job:
        for name in names:
            if name not in stored:  # the test that stores it has the error
                what = f"not asked: there is no answer that was stored as `{name}`"
                raise ProviderError(what, Trouble.STATUS)

        case = job.case
        prompt = job.prompt
        env = subject.variables["env"]
        values = with_stored_answers(job.vars, {name: stored[name] for name in names}, env)
        variables = {"env": env, **values}
        source = case.options.prefix + prompt.text + case.options.suffix
        filled_subject = replace(subject, variables=variables)
        bindings = [bind_assertion(graders, spec, filled_subject) for spec in case.assertions]
        text = fill_prompt(source, variables)
        if chat_mistake(text):
            what = "the prompt is not valid JSON once a stored answer is in it"
            cure = "write {{ name | dump }} without quotes around it"
            raise ConfigError.at(what, prompt.origin, cure)
        return replace(
            job,
            text=text,
            vars=values,
            assertions=tuple(map(_with_identity_of, job.assertions, bindings)),
            render=prompts.conversation_prompt(case, prompt, values),
        )

    return Recall(tuple(names), fill)


def _with_identity_of(planned: Any, binding: Binding) -> Any:
    """An assertion that is bound with stored answers, with its key and definition in the plan."""
    identity = planned.assertion
    asserted = replace(binding.assertion, key=identity.key, definition=identity.definition)
    if not isinstance(binding, BoundSet):
        return replace(binding, assertion=asserted)
    members = tuple(map(_with_identity_of, planned.members, binding.members))
    return replace(binding, assertion=asserted, members=members)
