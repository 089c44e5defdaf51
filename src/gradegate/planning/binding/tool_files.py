"""Reads the files that the config of a provider names for its tools and its response format."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from gradegate.core.provider_spec import ProviderSpec
from gradegate.errors import ConfigError, Origin
from gradegate.files import documents
from gradegate.files.paths import is_code
from gradegate.files.workspace import Workspace
from gradegate.structs import JsonObject, replace

KEYS = ("tools", "functions", "response_format", "output_format", "responseSchema")
ReadFile = Callable[[str], Any]  # gives the content of a file by its reference


def with_tool_files(
    spec: ProviderSpec, workspace: Workspace, folder: Path, contents: dict[str, Any]
) -> ProviderSpec:
    """The provider with the content of the YAML and JSON files that its ``KEYS`` name. Raises ConfigError.

    ``contents`` keeps what was read, by reference.
    """
    keys = [key for key in KEYS if _names_file(spec.config.get(key))]
    if not keys:
        return spec

    def read_file(reference: str) -> Any:
        if reference not in contents:
            contents[reference] = _read_file(reference, workspace, folder, spec.origin)
        return contents[reference]

    filled = {key: _fill_in(spec.config[key], read_file) for key in keys}
    return replace(spec, config={**spec.config, **filled})


def with_assertion_tools(
    config: JsonObject, workspace: Workspace, folder: Path, origin: Origin
) -> JsonObject:
    """The config of an assertion with the content of the files that its ``tools`` name. Raises ConfigError."""
    tools = config.get("tools")
    if not _names_file(tools):
        return config
    content = _fill_in(tools, lambda name: _read_file(name, workspace, folder, origin))
    return {**config, "tools": content}


def _names_file(value: Any) -> bool:
    if isinstance(value, str):
        return value.startswith("file://")
    if isinstance(value, Mapping):
        value = list(value.values())
    return isinstance(value, list) and any(_names_file(item) for item in value)


def _fill_in(value: Any, read_file: ReadFile) -> Any:
    """The value with the content of each file that it names."""
    if isinstance(value, str):
        return read_file(value) if value.startswith("file://") else value
    if isinstance(value, Mapping):
        return {key: _fill_in(item, read_file) for key, item in value.items()}
    if not isinstance(value, list):
        return value

    items = [_fill_in(item, read_file) for item in value]
    has_text = any(isinstance(item, str) for item in value)
    if not has_text or not all(isinstance(item, list) for item in items):
        return items
    # Files with a list each become one list, as in promptfoo.
    joined = []
    for item in items:
        joined += item
    return joined


def _read_file(reference: str, workspace: Workspace, folder: Path, origin: Origin) -> Any:
    if is_code(reference):
        what = f"`{reference}` is code, which gradegate does not run for a provider's config"
        raise ConfigError.at(what, origin, "write the tools into a .json or .yaml file")
    path = workspace.locate(reference, folder, origin)
    if path.suffix not in (".json", ".yaml", ".yml"):
        what = f"`{reference}` is neither JSON nor YAML"
        raise ConfigError.at(what, origin, "write it as .json or .yaml")
    content = documents.read(workspace.read(reference, folder, origin), workspace.name(path))
    if not isinstance(content, list | Mapping):
        what = f"`{reference}` holds no list and no mapping"
        raise ConfigError.at(what, origin, "write the tools into it")
    return content
