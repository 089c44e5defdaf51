"""Chooses the model that grades if a config names none: by the keys in the environment of the process.

The order is promptfoo's. Only variables that hold a key decide, so that a config, a login file or a cloud identity cannot.
"""

import re
from collections.abc import Container, Mapping

from gradegate.errors import Mistake
from gradegate.files.documents import table
from gradegate.structs import FrozenStruct, replace

DEFAULT_KINDS = ("text", "embedding", "moderation")
_PIN = "pin it with defaultTest.options.provider: "


class DefaultGraders(FrozenStruct):
    """The default models of one vendor. ``key`` is the variable that chose them, None if no key is set."""

    key: str | None
    models: Mapping[str, str]  # ids of models by their kind: text, embedding, moderation


def choose_default_graders(variables: Mapping[str, str], chosen_key: str = "") -> DefaultGraders:
    """The models of the first vendor whose key is set, else of the first vendor.

    ``chosen_key`` is the variable that chose in the other jobs of a run. It chooses here too, whichever keys are set.
    """
    entries = table("planning.binding", "default_graders.yaml")
    keys = {name for name, value in variables.items() if value.strip()}
    if any(chosen_key in entry["keys"] for entry in entries):
        keys = {chosen_key}
    for entry in entries:
        key = next((name for name in entry["keys"] if name in keys), "")
        if key and all(variables.get(name) for name in entry.get("variables", ())):
            return DefaultGraders(key, _models(entry, variables))
    return DefaultGraders(None, _models(entries[0], variables))


def describe_default(default: DefaultGraders, kind: str, target_names: Container[str]) -> str:
    """What reports say of a default grader. A config that names a target means the target, with its options."""
    name = "grader" if kind == "text" else f"{kind} model"
    reason = f"because {default.key} is set" if default.key else "because none is named"
    value = default.models[kind]
    if kind != "text":
        value = f"{{text: {default.models['text']}, {kind}: {value}}}"
    caution = (
        " (there, it means the target of this name)" if default.models[kind] in target_names else ""
    )
    return f"{name}: the default, {reason}; {_PIN}{value}{caution}"


def pin_of(description: str) -> str:
    """How to pin a model that reports describe so; an empty text if it is not a default."""
    pin = description.partition(_PIN)[2]
    return f"{_PIN}{pin}" if pin else ""


def without_any_key(mistake: Mistake, model: str) -> Mistake:
    """What to say if no grader is named and no key is set, in place of a mistake about the default's own key."""
    keys = [entry["keys"][0] for entry in table("planning.binding", "default_graders.yaml")]
    others = f"{', '.join(keys[1:-1])} or {keys[-1]}"
    return replace(
        mistake,
        what=f"no grader is named, and the default `{model}` needs {mistake.missing}",
        cure=f"set {mistake.missing} (or {others}, which choose another default), or name a grader with <--grader PROVIDER:MODEL>",
    )


def _models(entry: Mapping[str, object], variables: Mapping[str, str]) -> dict[str, str]:
    """The models of an entry; one that names a variable without a value is left out."""
    models = {}
    for kind in DEFAULT_KINDS:
        model = str(entry.get(kind, ""))
        names = re.findall(r"\{(\w+)\}", model)
        if model and all(variables.get(name) for name in names):
            models[kind] = re.sub(r"\{(\w+)\}", lambda name: variables[name[1]], model)
    return models
