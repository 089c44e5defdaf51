"""The code of a worker for code of the repository: runs one request after another.

The *user's* interpreter gets it as text, so it needs only a standard library from Python 3.8 on. Requests come on descriptor 3
and answers leave on descriptor 4, each as JSON behind its length in four bytes. What the code prints goes to the log. No program
that the code starts inherits either of the two.
"""

from __future__ import annotations  # Python 3.8 could not evaluate them

import asyncio
import contextlib
import dataclasses
import importlib.util
import inspect
import json
import os
import re
import site
import subprocess
import sys
import threading
import traceback
from importlib.machinery import ModuleSpec
from typing import Any, BinaryIO

REQUESTS = 3
ANSWERS = 4
MAX_ANSWER = 16 * 1024 * 1024  # bytes
TRACEBACK_LINES = 12  # the last ones
MAX_MESSAGE = 2000  # characters
_ESCAPES = re.compile(r"\x1b(?:[@-Z\\-_]|\[[0-?]*[ -/]*[@-~])")  # that colour a terminal
# Errors of code that cannot be loaded, or that hits a limit, whatever its arguments are
_NOT_FROM_ARGUMENTS = (ImportError, MemoryError, RecursionError)
_modules: dict[str, Any] = {}
_called_functions: list[Any] = []  # the function that the request called, once it does
# Folders of the workspace, and folders in it with installed packages; each with a separator at its end
_roots: tuple[str, ...] = ()
_installed: tuple[str, ...] = ()
_covered: list[str] = []  # files of the workspace that may be imported, unless nothing is guarded
# What Python loads, by the event: a source that runs, byte code and descriptions of packages that are read, and libraries
_LOADED = {
    "exec": re.compile(r"\.py$"),
    "open": re.compile(r"\.pyc$|\.(?:dist|egg)-info(?:[/\\]|$)"),
    "import": re.compile(r"\.so$"),
}
_RULE = (
    "From the workspace, a judge may import files that an `import` of its file names, and packages in a folder"
    " that is not in the commit. Code in a config may import no file (docs/code.md)"
)


def serve_requests() -> None:
    """Answer every request. Whatever the code raises, SystemExit included, is an answer, too."""
    for number in (REQUESTS, ANSWERS):
        os.set_inheritable(number, False)
    with os.fdopen(REQUESTS, "rb") as requests, os.fdopen(ANSWERS, "wb") as answers:
        while True:
            size = int.from_bytes(requests.read(4), "big")
            if not size:
                return
            answer = _answer_request(json.loads(requests.read(size)))
            answers.write(len(answer).to_bytes(4, "big") + answer)
            answers.flush()


def _answer_request(request: dict[str, Any]) -> bytes:
    """``{"value"}`` as JSON, or ``{"error", "raised"}``; ``raised``: the arguments may be why a called function failed."""
    _called_functions.clear()
    has_raised = False
    try:
        value = _KINDS[request["kind"]](request)
        try:
            text = json.dumps({"value": value}, default=_to_json_kind, ensure_ascii=False)
            answer = text.encode("utf-8", "backslashreplace")
        except (TypeError, ValueError, RecursionError) as e:
            raise PlainError(f"it returned something that is not plain JSON data: {e}") from e
        if len(answer) <= MAX_ANSWER:
            return answer
        message = f"what it returns has more than {MAX_ANSWER >> 20} MiB"
    except BaseException as e:
        is_ordinary = isinstance(e, (Exception, SystemExit))
        is_lasting = type(e) is NameError or isinstance(e, _NOT_FROM_ARGUMENTS)
        has_raised = bool(_called_functions) and is_ordinary and not is_lasting
        message = str(e) if isinstance(e, PlainError) else _traceback_end(e)
        if isinstance(e, ImportError) and _roots:
            message += f"\n{_RULE}"
    if len(message) > MAX_MESSAGE:
        message = "…" + message[-MAX_MESSAGE:]  # the sign of every cut
    return json.dumps({"error": message, "raised": has_raised}).encode()


class PlainError(Exception):
    """What went wrong, in words that need no traceback."""


def _traceback_end(error: BaseException) -> str:
    """The end of a traceback from where the user's own code begins."""
    own_files = {__file__ if "__file__" in globals() else "", "<string>"}
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename in own_files:
        trace = trace.tb_next
    lines = "".join(traceback.format_exception(type(error), error, trace)).strip().splitlines()
    return "\n".join(lines[-TRACEBACK_LINES:])


def _to_json_kind(value: Any) -> Any:
    """JSON data for a few other values that scripts return."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    for name in ("model_dump", "to_dict", "tolist"):  # pydantic's, and numpy's
        if callable(getattr(value, name, None)):
            return getattr(value, name)()
    raise TypeError(f"a {type(value).__name__}")


# --- what may be imported -------------------------------------------------------------------------------------


def guard_imports() -> None:
    """Find packages where the interpreter has them, and in the workspace only files that are covered.

    Python was started without its packages: a search for them runs files by their name, even those of the workspace.
    """
    global _roots, _installed
    _roots, _installed = map(tuple, json.loads(os.environ.pop("GRADEGATE_FOLDERS")))
    sys.path_hooks.insert(0, CoveredFolder)
    sys.addaudithook(_refuse_uncovered)
    sys.path += filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    site.ENABLE_USER_SITE = "PYTHONUSERBASE" in os.environ
    site.main()


def _is_guarded(path: str) -> bool:
    """Whether a path is in the workspace, and not in a folder with installed packages."""
    path = os.path.join(os.path.realpath(path), "")  # noqa: PTH118
    return path.startswith(_roots) and not path.startswith(_installed)


class CoveredFolder:
    """Finds modules in a folder of the workspace by the list of covered files, whatever else is in the folder."""

    def __init__(self, folder: str) -> None:
        """Raises ImportError for any other folder."""
        if not _is_guarded(folder):
            raise ImportError(folder)
        self._folder = os.path.abspath(folder)  # noqa: PTH100

    def find_spec(self, name: str, target: Any = None) -> ModuleSpec | None:
        """The module, a package with ``__init__.py`` or without, or None."""
        place = os.path.join(self._folder, name.rpartition(".")[2])  # noqa: PTH118
        for path in (os.path.join(place, "__init__.py"), f"{place}.py"):  # noqa: PTH118
            if path in _covered:
                return importlib.util.spec_from_file_location(name, path)
        if not any(path.startswith(place + os.sep) for path in _covered):
            return None
        package = ModuleSpec(name, None)
        package.submodule_search_locations = [place]
        return package


def _refuse_uncovered(event: str, arguments: tuple[Any, ...]) -> None:
    """Refuse files of the workspace that are not covered: modules however they are loaded, byte code, descriptions of packages."""
    if event in _LOADED:
        source = arguments[1] if event == "import" else arguments[0]
        path = str(getattr(source, "co_filename", source))
        if _LOADED[event].search(path) and path not in _covered and _is_guarded(path):
            # Without byte code, Python takes the source; without its description, a package is not installed
            raise (FileNotFoundError if event == "open" else ImportError)(f"{path} is not imported")


# --- Python ---------------------------------------------------------------------------------------------------


def _run_call(request: dict[str, Any]) -> Any:
    """A function of a file, imported once; ``{"path", "function", "args", "covered"}``."""
    path = request["path"]
    if path not in _modules:
        _modules[path] = _import_file(path, request["covered"])
    return _call(_find_function(_modules[path], request["function"]), request["args"])


def _import_file(path: str, covered: list[str] | None) -> Any:
    """The module of a file, which may import the ``covered`` files of the workspace; None: all."""
    global _roots, _covered  # noqa: PLW0603 - the hooks read them
    folders = [os.path.dirname(path), os.getcwd()]  # noqa: PTH109, PTH120 - as text; the last is the config's
    if covered is None:  # what is tested may replace modules of Python, too
        _roots = ()
        sys.path[:0] = folders
    else:
        _covered = covered
        sys.path += folders
    sys.path_importer_cache.clear()
    name = os.path.basename(path).rpartition(".")[0]  # noqa: PTH119
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise PlainError(f"{path} is not a Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(spec.name, module)  # where pickle and dataclasses look it up
    spec.loader.exec_module(module)
    return module


def _find_function(module: Any, name: str) -> Any:
    """The function with a name such as ``f`` or ``Class.method``. Raises PlainError."""
    value = module
    for part in name.split("."):
        if not hasattr(value, part):
            functions = [
                key
                for key, member in vars(module).items()
                if inspect.isfunction(member) and key[0] != "_"
            ]
            has = f"; it has {', '.join(functions[:10])}" if functions else ""
            raise PlainError(f"there is no function `{name}` in it{has}")
        value = getattr(value, part)
    return value


def _call(function: Any, args: list[Any]) -> Any:
    """What a function returns, or what its coroutine does."""
    _called_functions.append(function)
    value = function(*args)
    if inspect.isawaitable(value):
        return asyncio.run(_await_value(value))
    return value


async def _await_value(value: Any) -> Any:
    return await value


def _run_snippet(request: dict[str, Any]) -> Any:
    """Code of a config: one line is an expression, more are the body of a function; ``{"code", "args"}``."""
    code = request["code"]
    if "\n" in code:
        match = re.search(r"^(?!\s*$)[^\S\n]+", code, re.MULTILINE)
        indent = match[0] if match else "    "
        body = "\n".join(indent + line for line in code.split("\n"))
    else:
        body = f"    return {code}"
    names = {"json": json, "__name__": "assertion"}
    exec(compile(f"def main(output, context):\n{body}\n", "<assertion>", "exec"), names)  # noqa: S102 - what it is for
    return _call(names["main"], request["args"])


# --- commands -------------------------------------------------------------------------------------------------


def _run_command(request: dict[str, Any]) -> str:
    """What a program writes to standard output, without colours; ``{"argv"}``. ``{python}`` stands for this interpreter."""
    argv = [sys.executable if part == "{python}" else part for part in request["argv"]]
    try:
        process = subprocess.Popen(  # noqa: S603 - no shell
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
    except (OSError, ValueError) as e:
        raise PlainError(f"`{argv[0]}` does not start: {e}") from e
    assert process.stdout
    assert process.stderr
    errors = bytearray()
    reader = threading.Thread(target=_read_end, args=(process.stderr, errors), daemon=True)
    reader.start()
    output = process.stdout.read(MAX_ANSWER + 1)
    if len(output) > MAX_ANSWER:
        process.kill()
        raise PlainError(f"`{argv[0]}` writes more than {MAX_ANSWER >> 20} MiB")
    code = process.wait()
    reader.join(1.0)  # a program that it left behind may keep the pipe open
    text = _without_colours(output)
    error = _without_colours(bytes(errors))
    if code or (error and not text):
        message = f"`{argv[0]}` ended with {code}"
        if error:
            message += ": " + "\n".join(error.splitlines()[-TRACEBACK_LINES:])
        raise PlainError(message)
    return text


def _read_end(stream: BinaryIO, end: bytearray) -> None:
    """Read a stream to its end and keep the last of it."""
    with contextlib.suppress(OSError, ValueError):
        while part := stream.read1(65536):  # type: ignore[attr-defined]  # a pipe is buffered
            end += part
            del end[: -8 * MAX_MESSAGE]


def _without_colours(content: bytes) -> str:
    return _ESCAPES.sub("", content.decode("utf-8", "replace").strip())


_KINDS = {"call": _run_call, "inline": _run_snippet, "command": _run_command}

if __name__ == "__main__":
    guard_imports()
    serve_requests()
