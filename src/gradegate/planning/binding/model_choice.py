"""Checks models before the first call: what they serve, their price, tools and images."""

from collections.abc import Callable, Iterable, Iterator

from gradegate.assertions.grading.bound import Binding
from gradegate.core.assertion import Assertion
from gradegate.core.conversation import Image
from gradegate.core.policy import Limits
from gradegate.core.provider_spec import NOTHING, ProviderSpec
from gradegate.core.suite import Case, Suite
from gradegate.errors import ConfigError, Mistake, ProviderError
from gradegate.files.documents import to_json
from gradegate.files.paths import runs_code
from gradegate.planning.plan import Job
from gradegate.providers.api import options
from gradegate.providers.api.chat_model import ChatModel
from gradegate.providers.api.content import declared
from gradegate.providers.api.provider import PROVIDERS, Provider, split_id
from gradegate.sandbox.repository_code import ANSWERS, FLAG
from gradegate.structs import replace
from gradegate.templating import json_schema as schemas
from gradegate.templating.template import uses

# An id for each kind, as messages show it.
_EXAMPLES = {
    "text": "openai:chat:MODEL",
    "embedding": "openai:embedding:MODEL",
    "classification": "huggingface:text-classification:MODEL",
    "moderation": "openai:moderation",
}
_GIVEN = ("prompt", "messages", "env")  # what the templates of a grader are filled in with
_AS_CODE = f"{ANSWERS}; or name it as `file://x.py` or `exec: COMMAND`, and {FLAG}"


# --- what there is ----------------------------------------------------------------------------------------------------


def behind(spec: ProviderSpec) -> ProviderSpec:
    """The vendor's model that ``adaline:VENDOR:KIND:MODEL`` names: Adaline's gateway is a library that asks it, and no server."""
    first, *rest = spec.id.split(":", 3)
    if first != "adaline" or len(rest) < 3:
        return spec
    vendor, kind, model = rest
    whole = f"{vendor}:{model}" if kind == "chat" and PROVIDERS.find(vendor) else ":".join(rest)
    renamed = (
        NOTHING if vendor in ("google", "vertex") else options.ADALINE
    )  # Google names them so itself
    config = {renamed.get(name, name): value for name, value in spec.config.items()}
    return replace(spec, id=whole, label=spec.name, config=config)


def maker(spec: ProviderSpec) -> tuple[Callable[..., Provider], str]:
    """What makes a provider of that id, and the model's name in it. Raises ConfigError where nothing does."""
    options.check_id(spec)
    parts = split_id(spec.id)
    build = PROVIDERS.find(parts[0]) if parts else None
    if parts is not None and build is not None:
        return build, parts[1]
    if runs_code(spec.id):
        raise ConfigError.at(f"`{spec.id}` is code of the repository", spec.origin, _AS_CODE)
    raise ConfigError.at(f"no such provider `{spec.id}`", spec.origin, options.nearest(spec.id))


# --- graders ------------------------------------------------------------------------------------------------------


def graders(suite: Suite) -> Iterator[Mistake]:
    """A grader of the command line that cannot be what it is named for, though no assertion asks it."""
    configured = {
        name for spec in (*suite.targets, *suite.others) for name in (spec.id, spec.label)
    }
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


def self_contained(provider: Provider) -> Provider:
    """The grader itself. Raises ConfigError for one whose request asks for a variable that only a target is given."""
    strange = sorted(frozenset().union(*map(uses, provider.templates)).difference(_GIVEN))
    if strange:
        what = f"the grader `{provider.name}` asks for `{{{{{strange[0]}}}}}`, but a grader gets no variables of a test"
        raise ConfigError.at(
            what, provider.origin, "write {{prompt}}: it contains everything that the grader needs"
        )
    return provider


def how_to_serve(need: str, spec: Assertion) -> str:
    """What to do where no level names a model of that kind."""
    slug = spec.model_slug
    if slug:
        entry = f"{slug}: openai:chat:{slug}" if need == "text" else f"{need}: PROVIDER:MODEL"
        either = (
            f", or <--grader openai:chat:{slug}>"
            if need == "text"
            else f", or <--grader {need}=PROVIDER:MODEL>"
        )
        return f"name its vendor: `graders: {{{entry}}}` in the file{either}"
    example = _EXAMPLES[need]
    if need == "text":
        option, key = f"<--grader {example}>", "`defaultTest.options.provider`"
    else:
        option, key = (
            f"<--grader {need}={example}>",
            f"`defaultTest.options.provider: {{{need}: {example}}}`",
        )
    return f"name a model with {option}, with {key}, or with `provider` of the assertion"


def another(need: str, model: ProviderSpec) -> str:
    """What to do about a model that is named and of another kind: an id of the kind, at the same vendor where that has one."""
    vendor = model.id.partition(":")[0]
    embeds = need == "embedding" and (
        PROVIDERS.find(f"{vendor}:embedding") or getattr(PROVIDERS.find(vendor), "embeds", False)
    )
    pair = f"text={model.id},{need}={f'{vendor}:embedding:MODEL' if embeds else _EXAMPLES[need]}"
    same = (
        ", with the same `config`"
        if model.config.get("apiBaseUrl") or model.config.get("apiHost")
        else ""
    )
    return f"name one for it: `provider: {{text: ..., {need}: ...}}`{same}, or <--grader {pair}>"


# --- models without a price -----------------------------------------------------------------------------------


def prices(limits: Limits, jobs: Iterable[Job]) -> Iterator[Mistake]:
    """A budget in dollars is kept only where each call's cost is known."""
    models = (
        dict.fromkeys(model for job in jobs for model in _asked(job))
        if limits.usd is not None
        else ()
    )
    for model in models:
        if not model.priced:
            what = f"the price of `{model.name}` is not known, so a budget of {limits.usd:g} USD cannot be kept"
            cure = "give `inputCost` and `outputCost`, in US dollars per token, in its `config`, or limit `calls`"
            web = "limit `calls` instead: an application does not report its cost"
            yield Mistake(what, model.origin, cure if model.names_model else web)


def _asked(job: Job) -> Iterator[Provider]:
    """The models that a job may ask: not the target of a recorded answer."""
    if not job.case.recorded:
        yield job.target
    yield from grading_models(job)


def grading_models(job: Job) -> Iterator[Provider]:
    """The models that may grade the answers of a job."""
    for bound in (bound for binding in job.assertions for bound in binding.bounds):
        yield from bound.models.values()
        yield from bound.again.opinions


# --- targets without tools ------------------------------------------------------------------------------------


def untooled(bindings: Iterable[Binding], targets: Iterable[Provider]) -> Iterator[Mistake]:
    """The mistake of judging calls by tools that a target does not have, or by a schema that is none."""
    judging = [bound for binding in bindings for bound in binding.bounds if bound.grader.asks.tools]
    for target in targets if judging else ():
        for bound in judging:
            own = getattr(bound.grader, "tools", None)
            known = target.tools if own is None else declared({"tools": own})
            if not known and own is None and target.lacking:
                yield from target.lacking
            elif not known:
                what = f"`{bound.asserted.type}` checks calls against the `tools` of `{target.name}`, which has none"
                cure = "give them in the `config` of the target, or in that of the assertion as `tools`"
                yield Mistake(what, bound.asserted.origin, cure)
            for name, schema in (known or {}).items():
                try:
                    schemas.check(to_json(schema))
                except ValueError as e:
                    what = f"the parameters of the tool `{name}` of `{target.name}`: {e}"
                    yield Mistake(
                        what,
                        bound.asserted.origin if own is not None else target.origin,
                        "correct them",
                    )


# --- models that cannot see -----------------------------------------------------------------------------------


def blind_target(case: Case, target: Provider) -> Iterator[Mistake]:
    """The mistake of holding a conversation with images with a target that takes none."""
    if any(turn.images for turn in case.turns) and not case.recorded and not target.sees:
        what = f"the conversation has images, but the target `{target.name}` does not accept images"
        yield Mistake(what, case.origin, "use a target that accepts images, or leave them out")


def blind_graders(case: Case, bindings: Iterable[Binding]) -> Iterator[Mistake]:
    """The mistake of each assertion whose grader is shown images and whose model takes none, or keys of messages that it does not take."""
    for bound in (bound for binding in bindings for bound in binding.bounds if bound.models):
        models = [bound.models["text"], *bound.again.opinions] if "text" in bound.models else []
        shown = bound.rubric.images or (bound.grader.asks.sees and has_images(case))
        for model in (model for model in models if shown and not model.sees):
            what = f"`{bound.asserted.type}` shows images to `{model.name}`, which does not accept images"
            yield Mistake(what, bound.asserted.origin, "use a grader that accepts images")
        for model, template in (
            (model, it)
            for model in models
            for it in bound.rubric.steps.values()
            if any(said.written for said in it)
        ):
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
