"""Code that a config names: snippets and JavaScript files, which are read here; programs that make prompts, tests or a config."""

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
from gradegate.sandbox import repository_code
from gradegate.sandbox.code_run import CodePlace
from gradegate.sandbox.program import TYPESCRIPT_SUFFIXES, is_python, split_command
from gradegate.sandbox.repository_code import (
    ALLOW_CODE,
    USE_FILE,
    USE_OTHER_ASSERTION,
    CodeError,
    check_allowed,
    load_program,
)
from gradegate.structs import JsonObject
from gradegate.templating import javascript, script
from gradegate.templating.script import CodeFile

_JAVASCRIPT_SUFFIXES = (".js", ".cjs", ".mjs")


# --- scripts ----------------------------------------------------------------------------------------------


def is_script(written: str) -> bool:
    """Whether a value names a file of JavaScript or TypeScript."""
    if not written.startswith("file://") or not is_code(written):
        return False
    return _suffix(written) in (*_JAVASCRIPT_SUFFIXES, *TYPESCRIPT_SUFFIXES)


def read_code(written: str, source: Source, origin: Origin, *, only_engine: bool = False) -> Code:
    """A snippet as it is, or the file that ``written`` names with its code.

    The file becomes a program if gradegate's JavaScript engine cannot run it, unless ``only_engine`` is true: then nothing
    but the engine may run it. Raises ConfigError if the code cannot be run.
    """
    if not written.startswith("file://"):
        return written
    if is_python(written):
        return load_program(written, source.workspace, source.folder, origin, USE_OTHER_ASSERTION)

    path, _, function = written.removeprefix("file://").rpartition(":")
    if not path or not is_code(path):  # the colon, if there is one, names no function
        path = written.removeprefix("file://")
        function = ""

    suffix = _suffix(path)
    if suffix in TYPESCRIPT_SUFFIXES:
        cure = "compile it to one .js file without imports"
        if only_engine:
            what = f"`{written}` is TypeScript, which does not run here"
            raise ConfigError.at(what, origin, cure)
        instead = f"{cure}; or {USE_OTHER_ASSERTION}"
        return load_program(written, source.workspace, source.folder, origin, instead)
    if suffix not in _JAVASCRIPT_SUFFIXES:
        what = f"`{written}` is not a JavaScript file"
        raise ConfigError.at(what, origin, "name a .js, .cjs or .mjs file")

    reference = f"file://{path}"
    name = source.name(reference, origin)
    code = source.workspace.text(reference, source.folder, origin, code=True)
    if not only_engine:
        is_code_allowed = repository_code.current_policy().is_allowed
        if is_code_allowed and script.unsupported_feature(code):
            instead = USE_OTHER_ASSERTION
            return load_program(written, source.workspace, source.folder, origin, instead)
        refusal = javascript.find_unsupported(code)
        if refusal:
            cure = f"{refusal.cure}; or {ALLOW_CODE}"
            raise ConfigError.at(refusal.problem, Origin(name, refusal.line), cure)
    return CodeFile(file=name, function=function, code=code)


def _suffix(reference: str) -> str:
    path = reference.removeprefix("file://").partition(":")[0]
    return PurePosixPath(path).suffix.lower()


# --- programs that make a part of the config --------------------------------------------------------------


# Programs here make what is graded, so they share no process with code that grades.
_ROLE = "target"


def prompt_from_file(reference: str, source: Source, origin: Origin) -> PromptSpec:
    """A prompt that a function makes, or a Python script that prints it if no function is named. Raises ConfigError."""
    program = load_program(reference, source.workspace, source.folder, origin, USE_FILE)
    path = program.file.path
    function = program.file.function
    label = source.workspace.name(path)
    if program.file.is_python and not function:
        place = CodePlace(source.folder, _ROLE, reference)
        words = ["{python}", str(path)]
        return PromptSpec("", label, origin, partial(_print_prompt, place, words))

    if function:
        label = f"{label}:{function}"

    def make_prompt(context: JsonObject) -> Any:
        return repository_code.call_function(program, [context], _ROLE, function)

    return PromptSpec("", label, origin, make_prompt)


def prompt_from_command(written: str, source: Source, origin: Origin) -> PromptSpec:
    """A prompt that a command prints. Raises ConfigError."""
    check_allowed(f"`{written}`", origin, USE_FILE)
    words = split_command(written.removeprefix("exec:"))
    if not words:
        raise ConfigError.at("`exec:` names no program", origin, "write e.g. exec: ./prompt.sh")
    place = CodePlace(source.folder, _ROLE, written)
    return PromptSpec("", written, origin, partial(_print_prompt, place, words))


def _print_prompt(place: CodePlace, words: list[str], context: JsonObject) -> Any:
    """Run a command with the context as its last argument, and return what it prints."""
    task = {"kind": "command", "argv": [*words, to_json(context)]}
    return repository_code.ask_worker(place, task)


def tests_from_program(
    reference: str, config: Any, source: Source, origin: Origin
) -> Iterator[JsonObject]:
    """The tests that a function returns, or that a module exports. Raises ConfigError.

    ``config`` is the argument of the function, or None for a function without arguments.
    """
    program = load_program(reference, source.workspace, source.folder, origin, USE_FILE)
    arguments = [] if config is None else [config]
    try:
        tests = repository_code.call_function(
            program, arguments, _ROLE, "generate_tests", more={"plain": True}
        )
    except CodeError as e:
        raise ConfigError.at(f"`{reference}` made no tests: {e.line}", origin, "correct it") from e
    if not isinstance(tests, list) or not tests:
        what = f"`{reference}` returned no list of tests"
        raise ConfigError.at(what, origin, "return a list of dicts")
    yield from tests


def config_from_program(path: Path, workspace: Workspace, origin: Origin) -> bytes:
    """What a config in JavaScript or TypeScript exports, as JSON. Raises ConfigError."""
    command = f'import("./{path.name}").then((it) => console.log(JSON.stringify(it.default)))'
    instead = f"write it out as JSON: node -e '{command}'"
    program = load_program(path.name, workspace, path.parent, origin, instead)
    try:
        config = repository_code.call_function(program, [], _ROLE, "default", more={"plain": True})
        return to_json(config).encode()
    except CodeError as e:
        what = f"`{path.name}` makes no config: {e.line}"
        raise ConfigError.at(what, origin, "correct it") from e


def template_from_result(result: Any) -> str:
    """The template that a prompt function returned: text, messages, or ``{prompt}``. Raises ValueError."""
    prompt = result
    if isinstance(result, Mapping) and "prompt" in result:
        if result.get("config"):
            raise ValueError(
                "it returned a `config`, which is not supported: set it in the provider's config"
            )
        prompt = result["prompt"]
    if not isinstance(prompt, str | list | Mapping) or not prompt:
        raise ValueError("it returned neither text nor messages")
    return prompt if isinstance(prompt, str) else to_json(prompt)
