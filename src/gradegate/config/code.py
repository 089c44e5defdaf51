"""Code that a config names: snippets and JavaScript files, read here; programs that make prompts, tests or the whole config."""

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from gradegate.config.dialect import Source
from gradegate.core.provider_spec import Code, PromptSpec
from gradegate.errors import ConfigError, Origin
from gradegate.files.documents import to_json
from gradegate.files.paths import is_code
from gradegate.files.workspace import Workspace
from gradegate.sandbox import repository_code as pool
from gradegate.sandbox.program import TYPESCRIPT_SUFFIXES, is_python, split_command
from gradegate.sandbox.repository_code import (
    ALLOW_CODE,
    USE_FILE,
    USE_OTHER_ASSERTION,
    CodeError,
    CodePlace,
    check_allowed,
    load_program,
)
from gradegate.structs import JsonObject
from gradegate.templating import javascript as snippet
from gradegate.templating import script
from gradegate.templating.script import CodeFile

ENDINGS = (".js", ".cjs", ".mjs")


def is_script(written: str) -> bool:
    """Whether a value names a file of JavaScript."""
    return (
        written.startswith("file://")
        and is_code(written)
        and _suffix(written) in (*ENDINGS, *TYPESCRIPT_SUFFIXES)
    )


def read_code(written: str, source: Source, origin: Origin, *, engine: bool = False) -> Code:
    """The snippet as it is, or the file with its code: a program where the engine does not have what it uses.

    ``engine``: there runs nothing but the engine. Raises ConfigError for a file that is none of JavaScript.
    """
    if not written.startswith("file://"):
        return written
    if is_python(written):
        return load_program(written, source.workspace, source.folder, origin, USE_OTHER_ASSERTION)
    path, _, function = written.removeprefix("file://").rpartition(":")
    if not path or not is_code(path):
        path, function = written.removeprefix("file://"), ""
    suffix = _suffix(path)
    if suffix in TYPESCRIPT_SUFFIXES:
        cure = "compile it to one .js file without imports"
        if engine:
            what = f"`{written}` is TypeScript, which does not run here"
            raise ConfigError.at(what, origin, cure)
        return load_program(
            written, source.workspace, source.folder, origin, f"{cure}; or {USE_OTHER_ASSERTION}"
        )
    if suffix not in ENDINGS:
        what = f"`{written}` is not a JavaScript file"
        raise ConfigError.at(what, origin, "name a .js, .cjs or .mjs file")
    reference = f"file://{path}"
    name = source.name(reference, origin)
    text = source.workspace.text(reference, source.folder, origin, code=True)
    if not engine and pool.current_policy().is_allowed and script.unsupported_feature(text):
        return load_program(written, source.workspace, source.folder, origin, USE_OTHER_ASSERTION)
    if not engine and (found := snippet.find_unsupported(text)):
        raise ConfigError.at(found[0], Origin(name, found[1]), f"{found[2]}; or {ALLOW_CODE}")
    return CodeFile(file=name, function=function, code=text)


def _suffix(path: str) -> str:
    return PurePosixPath(path.removeprefix("file://").partition(":")[0]).suffix.lower()


_ROLE = "target"  # what is asked is no part of judging


def prompt_from_file(reference: str, source: Source, origin: Origin) -> PromptSpec:
    """The prompt that a function returns, or that a Python script prints where none is named. Raises ConfigError."""
    found = load_program(reference, source.workspace, source.folder, origin, USE_FILE)
    label = source.workspace.name(found.file.path)
    if found.file.function or not found.file.is_python:
        if found.file.function:
            label += f":{found.file.function}"
        return PromptSpec(
            "",
            label,
            origin,
            lambda context: pool.call_function(found, [context], _ROLE, found.file.function),
        )
    words = ["{python}", str(found.file.path)]
    place = CodePlace(source.folder, _ROLE, reference)
    return PromptSpec("", label, origin, partial(_print, place, words))


def prompt_from_command(written: str, source: Source, origin: Origin) -> PromptSpec:
    """The prompt that a program prints; its context is its last argument. Raises ConfigError."""
    check_allowed(f"`{written}`", origin, USE_FILE)
    words = split_command(written.removeprefix("exec:"))
    if not words:
        raise ConfigError.at("`exec:` names no program", origin, "write e.g. exec: ./prompt.sh")
    place = CodePlace(source.folder, _ROLE, written)
    return PromptSpec("", written, origin, partial(_print, place, words))


def tests_from_program(
    reference: str, config: Any, source: Source, origin: Origin
) -> Iterator[JsonObject]:
    """The tests that a function returns, or that a module exports. Raises ConfigError."""
    found = load_program(reference, source.workspace, source.folder, origin, USE_FILE)
    try:
        made = pool.call_function(
            found, [] if config is None else [config], _ROLE, "generate_tests", more={"plain": True}
        )
    except CodeError as e:
        raise ConfigError.at(f"`{reference}` made no tests: {e.line}", origin, "correct it") from e
    if not isinstance(made, list) or not made:
        raise ConfigError.at(
            f"`{reference}` returned no list of tests", origin, "return a list of dicts"
        )
    yield from made


def config_from_program(path: Path, workspace: Workspace, origin: Origin) -> bytes:
    """As JSON, what a config in JavaScript or TypeScript exports. Raises ConfigError."""
    instead = f"write it out as JSON: node -e 'import(\"./{path.name}\").then((it) => console.log(JSON.stringify(it.default)))'"
    found = load_program(path.name, workspace, path.parent, origin, instead)
    try:
        return to_json(
            pool.call_function(found, [], _ROLE, "default", more={"plain": True})
        ).encode()
    except CodeError as e:
        raise ConfigError.at(
            f"`{path.name}` makes no config: {e.line}", origin, "correct it"
        ) from e


def template_from_result(made: Any) -> str:
    """The template that a prompt function returned: text, messages, or ``{prompt}``. Raises ValueError."""
    if isinstance(made, Mapping) and "prompt" in made:
        if made.get("config"):
            raise ValueError(
                "it returned a `config`, which is not supported: set it in the provider's config"
            )
        made = made["prompt"]
    if not isinstance(made, str | list | Mapping) or not made:
        raise ValueError("it returned neither text nor messages")
    return made if isinstance(made, str) else to_json(made)


def _print(place: CodePlace, words: list[str], context: JsonObject) -> Any:
    return pool.ask_worker(place, {"kind": "command", "argv": [*words, to_json(context)]})
