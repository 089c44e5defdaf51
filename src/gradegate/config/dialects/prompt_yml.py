"""``.prompt.yml`` of GitHub Models: one prompt with its model, test data and evaluators.

GitHub Models closed on 30 July 2026, so a model is asked at its vendor, where that has it under the same name.

Format: https://docs.github.com/en/github-models/use-github-models/storing-prompts-in-github-repositories, and what
``gh models eval`` makes of it (https://github.com/github/gh-models, ``pkg/prompt/prompt.go``, ``cmd/eval/eval.go``).
"""

import json
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from gradegate.config import providers as specs
from gradegate.config.dialect import DIALECTS, Dialect, Source
from gradegate.config.reader import Desk
from gradegate.core.assertion import Assertion
from gradegate.core.policy import Policy, Rule
from gradegate.core.provider_spec import Graders, PromptSpec, ProviderSpec, Verbatim
from gradegate.core.suite import Case, CaseOptions, Suite
from gradegate.errors import ConfigError, Mistake, Origin
from gradegate.structs import replace

BUILT_IN_MODEL = "openai/gpt-4o"  # of `uses: github/...`
_OTHERS = frozenset(
    {"prompts", "providers", "targets", "tests", "defaultTest", "scenarios"}
)  # of promptfoo
_OWN = frozenset({"model", "modelParameters", "testData", "evaluators"})
_OPTIONS = {"maxTokens": "max_tokens", "topP": "top_p"}
_VENDORS = {"openai": "openai:chat", "mistral-ai": "mistral", "xai": "xai"}
_UNSERVED = "name what answers in its place: <--provider PROVIDER:MODEL>"
PASSING = "every case passes"


class _Keys(BaseModel):
    model_config = ConfigDict(extra="forbid", alias_generator=to_camel, protected_namespaces=())


def _object(text: str) -> str:
    if not isinstance(json.loads(text), dict):
        raise ValueError("is not a JSON object")
    return text


class MessageKeys(_Keys):
    """One message of the prompt."""

    role: Literal["system", "user", "assistant"]
    content: str


class ParameterKeys(_Keys):
    """How the model answers."""

    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None


class StringKeys(_Keys):
    """A text that the answer is compared with; one of the four."""

    equals: str = ""
    contains: str = ""
    starts_with: str = ""
    ends_with: str = ""


class ChoiceKeys(_Keys):
    """A reply of the grader with its score."""

    choice: str = Field(min_length=1)
    score: float


class LlmKeys(_Keys):
    """A model that grades with a prompt of the file's own."""

    model_id: str
    prompt: str
    system_prompt: str = ""
    choices: list[ChoiceKeys] = Field(min_length=1)


class EvaluatorKeys(_Keys):
    """How answers are evaluated; one of the three."""

    name: str = ""
    string: StringKeys | None = None
    llm: LlmKeys | None = None
    uses: str = ""


class PromptYmlKeys(_Keys):
    """The keys of the file."""

    name: str = ""
    description: str = ""
    model: str
    model_parameters: ParameterKeys = ParameterKeys()
    response_format: Literal["text", "json_object", "json_schema"] | None = None
    json_schema: Annotated[str, AfterValidator(_object)] | None = None
    messages: list[MessageKeys] = Field(min_length=1)
    test_data: list[dict[str, Any]] = Field(default_factory=list)
    evaluators: list[EvaluatorKeys] = Field(default_factory=list)


def recognises(content: Any) -> bool:
    """A mapping with messages and another key of a prompt file, and none of promptfoo's."""
    return (
        isinstance(content, Mapping)
        and "messages" in content
        and bool(_OWN & set(content))
        and not _OTHERS & set(content)
    )


def read(source: Source) -> Suite:
    """A suite with one prompt, one target, and each row of the test data as a case."""
    desk = Desk(source)
    keys = desk.check(PromptYmlKeys, source.content, source.content, desk.file)
    found = (
        Suite(desk.file, env=source.env) if keys is None or desk.mistakes else _suite(keys, desk)
    )
    return replace(found, mistakes=tuple(desk.mistakes))


def _suite(keys: PromptYmlKeys, desk: Desk) -> Suite:
    if not keys.test_data:
        desk.say(
            "the file has no `testData`, so nothing would be checked",
            desk.line("testData"),
            "add a row of variables",
        )
    models = dict.fromkeys(model for evaluator in keys.evaluators if (model := _model(evaluator)))
    graders = _served(next(iter(models)), desk.line("evaluators")) if len(models) == 1 else {}
    assertions = tuple(
        assertion
        for number, evaluator in enumerate(keys.evaluators)
        for assertion in _assertions(
            evaluator, desk.line("evaluators", number), len(models) > 1, desk
        )
    )
    rows = [
        {name: Verbatim(value) if isinstance(value, str) else value for name, value in row.items()}
        for row in keys.test_data
    ]
    messages = [message.model_dump() for message in keys.messages]
    unserved = f"`{keys.model}` was served by GitHub Models, which closed in July 2026"
    return Suite(
        file=desk.file,
        description=keys.description or keys.name,
        prompts=(
            PromptSpec(json.dumps(messages, ensure_ascii=False), keys.name, desk.line("messages")),
        ),
        targets=_target(keys, desk),
        targetless=None if _id(keys.model) else Mistake(unserved, desk.line("model"), _UNSERVED),
        cases=tuple(
            Case(
                vars=values,
                assertions=assertions,
                options=CaseOptions(expand_vars=False),
                origin=desk.line("testData", number),
            )
            for number, values in enumerate(rows)
        ),
        policy=Policy((Rule(PASSING, every_case=True, suite=desk.file),)),
        graders=graders,
        env=desk.source.env,
    )


def _target(keys: PromptYmlKeys, desk: Desk) -> tuple[ProviderSpec, ...]:
    given = keys.model_parameters.model_dump(by_alias=True, exclude_none=True)
    config: dict[str, Any] = {_OPTIONS.get(name, name): value for name, value in given.items()}
    if keys.response_format:
        config["response_format"] = {"type": keys.response_format}
        if keys.response_format == "json_schema":
            if keys.json_schema is None:
                desk.say(
                    "`responseFormat: json_schema` has no `jsonSchema`",
                    desk.line("responseFormat"),
                    "add it",
                )
            config["response_format"]["json_schema"] = json.loads(keys.json_schema or "{}")
    written = {"id": _id(keys.model), "config": config}
    if not written["id"]:
        return ()
    try:
        return tuple(specs.providers(written, desk.source, desk.line("model")))
    except ConfigError as e:
        desk.mistakes += e.mistakes
        return ()


def _served(model: str, origin: Origin) -> Graders:
    return {"text": ProviderSpec(_id(model), origin=origin)} if _id(model) else {}


def _id(model: str) -> str:
    """The provider that serves ``vendor/model`` today; empty where none has it under that name."""
    vendor, _, name = model.partition("/")
    return f"{_VENDORS[vendor]}:{name}" if vendor in _VENDORS and name else ""


def _model(evaluator: EvaluatorKeys) -> str:
    return evaluator.llm.model_id if evaluator.llm else BUILT_IN_MODEL if evaluator.uses else ""


def _assertions(
    evaluator: EvaluatorKeys, origin: Origin, several: bool, desk: Desk
) -> Iterator[Assertion]:
    ways = [way for way in (evaluator.string, evaluator.llm, evaluator.uses) if way]
    if len(ways) != 1:
        desk.say(
            "an evaluator has one of `string`, `llm` and `uses`", origin, "write two evaluators"
        )
        return
    graders = _served(_model(evaluator), origin) if several else {}
    if evaluator.string:
        given = {name: text for name, text in evaluator.string if text}
        for match, text in given.items() if len(given) == 1 else ():
            yield Assertion(
                "github-models:string",
                text,
                metric=evaluator.name,
                config={"match": match},
                origin=origin,
            )
        if len(given) != 1:
            cure = "give one of `equals`, `contains`, `startsWith` and `endsWith`"
            desk.say("a `string` evaluator compares with one text", origin, cure)
    elif keys := evaluator.llm:
        messages = [{"role": "system", "content": keys.system_prompt}] if keys.system_prompt else []
        yield Assertion(
            "github-models:choice",
            metric=evaluator.name,
            rubric_prompt=[*messages, {"role": "user", "content": keys.prompt}],
            config={"choices": [choice.model_dump() for choice in keys.choices]},
            graders=graders,
            origin=origin,
        )
    else:
        yield Assertion(
            "github-models:built-in",
            evaluator.uses,
            metric=evaluator.name,
            graders=graders,
            origin=origin,
        )


DIALECTS.register("prompt.yml")(
    Dialect("prompt.yml", "a .prompt.yml of GitHub Models", recognises, read)
)
