"""Reads the files that the config of a provider names for its tools and its response format."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gradegate.core.provider_spec import ProviderSpec
from gradegate.errors import ConfigError, Origin
from gradegate.files import documents as document
from gradegate.files.paths import is_code
from gradegate.files.workspace import Workspace
from gradegate.structs import JsonObject, replace

KEYS = ("tools", "functions", "response_format", "output_format", "responseSchema")


def read_in(
    spec: ProviderSpec, workspace: Workspace, folder: Path, known: dict[str, Any]
) -> ProviderSpec:
    """The provider with the content of the YAML and JSON files that these keys name; ``known`` keeps it.

    Raises ConfigError.
    """
    named = [key for key in KEYS if _names_file(spec.config.get(key))]
    if not named:
        return spec

    def content(reference: str) -> Any:
        if reference not in known:
            known[reference] = _content(reference, workspace, folder, spec.origin)
        return known[reference]

    return replace(
        spec, config={**spec.config, **{key: _filled(spec.config[key], content) for key in named}}
    )


def of_assertion(
    config: JsonObject, workspace: Workspace, folder: Path, origin: Origin
) -> JsonObject:
    """The config of an assertion with the content of the files that its ``tools`` name. Raises ConfigError."""
    if not _names_file(config.get("tools")):
        return config
    return {
        **config,
        "tools": _filled(config["tools"], lambda name: _content(name, workspace, folder, origin)),
    }


def _names_file(value: Any) -> bool:
    if isinstance(value, str):
        return value.startswith("file://")
    if isinstance(value, Mapping):
        value = [*value.values()]
    return isinstance(value, list) and any(map(_names_file, value))


def _filled(value: Any, content: Any) -> Any:
    if isinstance(value, str):
        return content(value) if value.startswith("file://") else value
    if isinstance(value, Mapping):
        return {key: _filled(item, content) for key, item in value.items()}
    if not isinstance(value, list):
        return value
    items = [_filled(item, content) for item in value]
    # Files that hold a list each are one list, as in promptfoo.
    whole = any(isinstance(item, str) for item in value) and all(
        isinstance(item, list) for item in items
    )
    return [inner for item in items for inner in item] if whole else items


def _content(reference: str, workspace: Workspace, folder: Path, origin: Origin) -> Any:
    if is_code(reference):
        what = f"`{reference}` is code, which gradegate does not run for a provider's config"
        raise ConfigError.at(what, origin, "write the tools into a .json or .yaml file")
    path = workspace.locate(reference, folder, origin)
    if path.suffix not in (".json", ".yaml", ".yml"):
        raise ConfigError.at(
            f"`{reference}` is neither JSON nor YAML", origin, "write it as .json or .yaml"
        )
    read = document.read(workspace.read(reference, folder, origin), workspace.name(path))
    if not isinstance(read, list | Mapping):
        raise ConfigError.at(
            f"`{reference}` holds no list and no mapping", origin, "write the tools into it"
        )
    return read
