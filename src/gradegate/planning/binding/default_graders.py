"""Chooses the model that grades if a config names none, by the keys in the environment of the process.

The order is promptfoo's. Only variables with a key decide; a config, a login file or a cloud identity cannot.
"""

import re
from collections.abc import Container, Mapping

from gradegate.errors import Mistake
from gradegate.files.documents import table
from gradegate.structs import FrozenStruct, replace

DEFAULT_KINDS = ("text", "embedding", "moderation")
# A variable in the id of a model: `{AZURE_OPENAI_DEPLOYMENT_NAME}`
_VARIABLE = re.compile(r"\{(\w+)\}")
_PIN = "pin it with defaultTest.options.provider: "


class DefaultGraders(FrozenStruct):
    """The default models of one vendor. ``key`` is the variable that chose them, None if no key is set."""

    key: str | None
    models: Mapping[str, str]  # ids of models by their kind: text, embedding, moderation


def choose_default_graders(variables: Mapping[str, str], chosen_key: str = "") -> DefaultGraders:
    """The models of the first vendor with a key that is set, else of the first vendor.

    ``chosen_key`` is the variable that chose in the other jobs of a run. It chooses here too, whichever keys are set.
    """
    entries = table("planning.binding", "default_graders.yaml")
    usable = {name for name, value in variables.items() if value.strip()}
    if any(chosen_key in entry["keys"] for entry in entries):
        usable = {chosen_key}
    for entry in entries:
        usable_keys = [key for key in entry["keys"] if key in usable]
        has_other_variables = all(variables.get(name) for name in entry.get("variables", ()))
        if usable_keys and has_other_variables:
            return DefaultGraders(usable_keys[0], _models(entry, variables))
    return DefaultGraders(None, _models(entries[0], variables))


def describe_default(default: DefaultGraders, kind: str, target_names: Container[str]) -> str:
    """What reports say about a default grader. In a config, the id of a target means that target, with its options."""
    name = "grader" if kind == "text" else f"{kind} model"
    reason = f"because {default.key} is set" if default.key else "because none is named"
    model = default.models[kind]
    pin = model
    if kind != "text":
        pin = f"{{text: {default.models['text']}, {kind}: {model}}}"
    if model in target_names:
        pin += " (there, it means the target of this name)"
    return f"{name}: the default, {reason}; {_PIN}{pin}"


def pin_of(description: str) -> str:
    """How to pin the default grader with this description; empty if it is not a default."""
    pin = description.partition(_PIN)[2]
    return f"{_PIN}{pin}" if pin else ""


def without_any_key(mistake: Mistake, model: str) -> Mistake:
    """The mistake that no grader is named and no key is set, in place of one about the default's own key."""
    keys = [entry["keys"][0] for entry in table("planning.binding", "default_graders.yaml")]
    others = f"{', '.join(keys[1:-1])} or {keys[-1]}"
    return replace(
        mistake,
        what=f"no grader is named, and the default `{model}` needs {mistake.missing}",
        cure=f"set {mistake.missing} (or {others}, which choose another default), or name a grader with <--grader PROVIDER:MODEL>",
    )


def _models(entry: Mapping[str, object], variables: Mapping[str, str]) -> dict[str, str]:
    """The models of an entry by kind, without those that name a variable that has no value."""
    models = {}
    for kind in DEFAULT_KINDS:
        model = str(entry.get(kind, ""))
        names = _VARIABLE.findall(model)
        if model and all(variables.get(name) for name in names):
            models[kind] = _VARIABLE.sub(lambda name: variables[name[1]], model)
    return models
