"""Checks models before the first call: what they serve, their price, tools and images."""

from collections.abc import Iterable, Iterator

from gradegate.assertions.grading.bound import Binding
from gradegate.core.conversation import Image
from gradegate.core.numbers import format_dollars
from gradegate.core.policy import Limits
from gradegate.core.suite import Case, Suite
from gradegate.errors import Mistake, ProviderError
from gradegate.files.documents import to_json
from gradegate.files.paths import runs_code
from gradegate.planning.binding.model_choice import behind
from gradegate.planning.plan import Job, grading_models
from gradegate.providers.api import options
from gradegate.providers.api.chat_model import ChatModel
from gradegate.providers.api.content import declared
from gradegate.providers.api.provider import PROVIDERS, Provider, split_id
from gradegate.structs import replace
from gradegate.templating import json_schema as schemas


def graders(suite: Suite) -> Iterator[Mistake]:
    """A grader of the command line that cannot be what it is named for, though no assertion asks it."""
    configured = {name for spec in suite.configured for name in spec.names}
    for kind, spec in suite.given.items():
        if kind == "*" or spec.id in configured:
            continue
        parts = split_id(behind(spec).id)
        kinds = getattr(PROVIDERS.find(parts[0]), "kinds", ()) if parts else ()
        if parts is None and not runs_code(spec.id):
            yield Mistake(f"no such provider `{spec.id}`", spec.origin, options.nearest(spec.id))
        elif kinds and kind not in kinds:
            what = (
                f"`{spec.id}` is set for the kind {kind}, but is of the kind {' or '.join(kinds)}"
            )
            yield Mistake(
                what, spec.origin, f"name a model of that kind, or write {kinds[0]}={spec.id}"
            )


def prices(limits: Limits, jobs: Iterable[Job]) -> Iterator[Mistake]:
    """A budget in dollars is kept only where each call's cost is known."""
    if limits.usd is None:
        return
    for model in dict.fromkeys(model for job in jobs for model in _asked(job)):
        if not (model.priced or model.missing):
            what = f"the price of `{model.name}` is not known, so a budget of {format_dollars(limits.usd)} cannot be kept"
            cure = "give `inputCost` and `outputCost`, in US dollars per token, in its `config`, or limit `calls`"
            web = "limit `calls` instead: an application does not report its cost"
            yield Mistake(what, model.origin, cure if model.names_model else web)


def _asked(job: Job) -> Iterator[Provider]:
    """The models that a job may ask: not the target of a recorded answer."""
    if not job.case.recorded:
        yield job.target
    yield from grading_models(job)


def untooled(bindings: Iterable[Binding], targets: Iterable[Provider]) -> Iterator[Mistake]:
    """The mistake of judging calls by tools that a target does not have, or by a schema that is none."""
    judging = [
        bound for binding in bindings for bound in binding.bounds if hasattr(bound.grader, "tools")
    ]
    for target in targets if judging else ():
        for bound in judging:
            own = bound.grader.tools  # type: ignore[attr-defined]  # as was just seen
            known = target.tools if own is None else declared({"tools": own})
            if not known and own is None and target.lacking:
                yield from target.lacking
            elif not known:
                what = f"`{bound.asserted.type}` checks calls against the `tools` of `{target.name}`, which has none"
                cure = "give them in the `config` of the target, or in that of the assertion as `tools`"
                yield Mistake(what, bound.asserted.origin, cure)
            for name, schema in (known or {}).items():
                try:
                    schemas.check_schema(to_json(schema))
                except ValueError as e:
                    what = f"the parameters of the tool `{name}` of `{target.name}`: {e}"
                    yield Mistake(
                        what,
                        bound.asserted.origin if own is not None else target.origin,
                        "correct them",
                    )


def blind_targets(case: Case, targets: Iterable[Provider]) -> Iterator[Mistake]:
    """The mistake of holding a conversation with images with a target that takes none."""
    shows = any(turn.images for turn in case.turns) and not case.recorded
    for target in (target for target in targets if shows and not target.sees):
        what = f"the conversation has images, but the target `{target.name}` does not accept images"
        yield Mistake(what, case.origin, "use a target that accepts images, or leave them out")


def blind_graders(case: Case, bindings: Iterable[Binding]) -> Iterator[Mistake]:
    """The mistake of each assertion whose grader is shown images and whose model takes none, or keys of messages that it does not take."""
    for bound in (bound for binding in bindings for bound in binding.bounds if bound.models):
        model = bound.models.get("text")
        if model is None:
            continue
        shown = bound.rubric.images or (bound.grader.requires.images and has_images(case))
        if shown and not model.sees:
            what = f"`{bound.asserted.type}` shows images to `{model.name}`, which does not accept images"
            yield Mistake(what, bound.asserted.origin, "use a grader that accepts images")
        for template in bound.rubric.steps.values():
            if not any(said.written for said in template):
                continue
            try:
                if not isinstance(model, ChatModel):
                    raise ProviderError("it accepts only texts and images")
                model.check([replace(said, images=()) for said in template])
            except (ProviderError, ValueError) as e:
                what = f"the `rubricPrompt` of `{bound.asserted.type}` cannot be sent to `{model.name}`: {e}"
                yield Mistake(
                    what, bound.asserted.origin, "write what it takes, or name another grader"
                )


def has_images(case: Case) -> bool:
    """Whether any turn holds an image, in its message or among its documents."""
    return any(
        turn.images or any(isinstance(d, Image) for d in turn.retrieval_context)
        for turn in case.turns
    )
