"""Checks models before the first call: what they serve, their price, tools and images."""

from collections.abc import Iterable, Iterator

from gradegate.assertions.grading.bound import Binding, BoundAssertion
from gradegate.core.conversation import Image
from gradegate.core.numbers import format_dollars
from gradegate.core.policy import Limits
from gradegate.core.suite import Case, Suite
from gradegate.errors import Mistake, ProviderError
from gradegate.files.documents import to_json
from gradegate.files.paths import runs_code
from gradegate.planning.binding.providers import resolve_gateway
from gradegate.planning.plan import Job, grading_models
from gradegate.providers.api import options
from gradegate.providers.api.chat_model import ChatModel
from gradegate.providers.api.content import function_schemas
from gradegate.providers.api.provider import PROVIDERS, Provider, split_id
from gradegate.structs import replace
from gradegate.templating import json_schema


def grader_kind_mistakes(suite: Suite) -> Iterator[Mistake]:
    """A grader of the command line that cannot serve the kind it is set for, even if no assertion asks it."""
    target_names = set[str]()
    for target in suite.all_targets:
        target_names.update(target.names)
    for kind, spec in suite.option_graders.items():
        if kind == "*" or spec.id in target_names:
            continue
        parts = split_id(resolve_gateway(spec).id)
        if parts is None:
            if not runs_code(spec.id):
                what = f"no such provider `{spec.id}`"
                yield Mistake(what, spec.origin, options.suggest_id(spec.id))
            continue
        kinds = getattr(PROVIDERS.find(parts[0]), "kinds", ())
        if kinds and kind not in kinds:
            what = (
                f"`{spec.id}` is set for the kind {kind}, but is of the kind {' or '.join(kinds)}"
            )
            cure = f"name a model of that kind, or write {kinds[0]}={spec.id}"
            yield Mistake(what, spec.origin, cure)


def price_mistakes(limits: Limits, jobs: Iterable[Job]) -> Iterator[Mistake]:
    """Models without a known price: a budget in dollars needs the cost of each call."""
    if limits.usd is None:
        return
    models: dict[Provider, None] = {}
    for job in jobs:
        if not job.case.is_recorded:  # otherwise its target is not asked
            models[job.target] = None
        models |= dict.fromkeys(grading_models(job))
    for model in models:
        if model.is_priced or model.missing:
            continue
        what = f"the price of `{model.name}` is not known, so a budget of {format_dollars(limits.usd)} cannot be kept"
        cure = "limit `calls` instead: an application does not report its cost"
        if model.names_model:
            cure = "give `inputCost` and `outputCost`, in US dollars per token, in its `config`, or limit `calls`"
        yield Mistake(what, model.origin, cure)


def tool_mistakes(bindings: Iterable[Binding], targets: Iterable[Provider]) -> Iterator[Mistake]:
    """Assertions about tool calls without tools to check them against, and tools with an invalid schema."""
    checking = []
    for binding in bindings:
        checking += [bound for bound in binding.members if hasattr(bound.evaluator, "tools")]
    if checking:
        for target in targets:
            for bound in checking:
                yield from _tool_mistakes_of(bound, target)


def _tool_mistakes_of(bound: BoundAssertion, target: Provider) -> Iterator[Mistake]:
    """The mistakes of one assertion about the tool calls of one target."""
    asserted = bound.assertion
    tools = target.tools
    origin = target.origin
    assertion_tools = bound.evaluator.tools  # type: ignore[attr-defined]  # see above
    if assertion_tools is not None:
        tools = function_schemas({"tools": assertion_tools})
        origin = asserted.origin

    if tools:
        for name, schema in tools.items():
            try:
                json_schema.check_schema(to_json(schema))
            except ValueError as e:
                what = f"the parameters of the tool `{name}` of `{target.name}`: {e}"
                yield Mistake(what, origin, "correct them")
    elif assertion_tools is None and target.tool_mistakes:
        yield from target.tool_mistakes
    else:
        what = (
            f"`{asserted.type}` checks calls against the `tools` of `{target.name}`, which has none"
        )
        cure = "give them in the `config` of the target, or in that of the assertion as `tools`"
        yield Mistake(what, asserted.origin, cure)


def target_image_mistakes(case: Case, targets: Iterable[Provider]) -> Iterator[Mistake]:
    """Targets that do not accept images, for a conversation with images."""
    if case.is_recorded or not any(turn.images for turn in case.turns):
        return
    for target in targets:
        if not target.takes_images:
            what = f"the conversation has images, but the target `{target.name}` does not accept images"
            yield Mistake(what, case.origin, "use a target that accepts images, or leave them out")


def grader_image_mistakes(case: Case, bindings: Iterable[Binding]) -> Iterator[Mistake]:
    """Graders that do not accept the images or the message keys that an assertion sends them."""
    for binding in bindings:
        for bound in binding.members:
            model = bound.models.get("text")
            if model:
                yield from _grader_mistakes(case, bound, model)


def _grader_mistakes(case: Case, bound: BoundAssertion, model: Provider) -> Iterator[Mistake]:
    name = f"`{bound.assertion.type}`"
    origin = bound.assertion.origin
    sends_images = bound.rubric.has_images or (bound.evaluator.requires.images and has_images(case))
    if sends_images and not model.takes_images:
        what = f"{name} shows images to `{model.name}`, which does not accept images"
        yield Mistake(what, origin, "use a grader that accepts images")

    # Messages that the config writes with the keys of a vendor's API
    for messages in bound.rubric.steps.values():
        if not any(message.written for message in messages):
            continue
        try:
            if not isinstance(model, ChatModel):
                raise ProviderError("it accepts only texts and images")
            model.check_messages([replace(message, images=()) for message in messages])
        except (ProviderError, ValueError) as e:
            what = f"the `rubricPrompt` of {name} cannot be sent to `{model.name}`: {e}"
            yield Mistake(what, origin, "write what it takes, or name another grader")


def has_images(case: Case) -> bool:
    """Whether any turn has an image, in its message or among its documents."""
    for turn in case.turns:
        if turn.images or any(isinstance(item, Image) for item in turn.retrieval_context):
            return True
    return False
