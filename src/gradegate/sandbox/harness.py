"""The worker's side for code of the repository: runs one request after another.

It is given to the interpreter of the *user* as text, so it needs nothing but a standard library from Python 3.8 on.
Requests come on descriptor 3 and answers leave on descriptor 4, each as JSON behind its length in four bytes; what the
code prints goes to the log. No program that the code starts inherits either of the two.
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
MOST = 16 * 1024 * 1024  # bytes of an answer
LINES, LONGEST = 12, 2000  # of a traceback: its last lines, and characters
_ESCAPES = re.compile(r"\x1b(?:[@-Z\\-_]|\[[0-?]*[ -/]*[@-~])")  # what colours a terminal
# Of code that cannot be loaded, or at a limit, whatever it is called with
_NO_FAULT = (ImportError, MemoryError, RecursionError)
_modules: dict[str, Any] = {}
_called: list[Any] = []  # the function that the request called, once it does
# Folders of the workspace, and those in it with what was installed there; each with a separator at its end
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
    " that is not in the commit. Code in a config may import no file (docs/exec.md)"
)


def serve() -> None:
    """Answer every request. Whatever the code raises, SystemExit included, is an answer, too."""
    for number in (REQUESTS, ANSWERS):
        os.set_inheritable(number, False)
    with os.fdopen(REQUESTS, "rb") as requests, os.fdopen(ANSWERS, "wb") as answers:
        while True:
            size = int.from_bytes(requests.read(4), "big")
            if not size:
                return
            answer = _answer(json.loads(requests.read(size)))
            answers.write(len(answer).to_bytes(4, "big") + answer)
            answers.flush()


def _answer(request: dict[str, Any]) -> bytes:
    _called.clear()
    raised = False
    try:
        value = _KINDS[request["kind"]](request)
        try:
            answer = json.dumps({"value": value}, default=_plain, ensure_ascii=False).encode(
                "utf-8", "backslashreplace"
            )
        except (TypeError, ValueError, RecursionError) as e:
            raise Said(f"it returned something that is not plain JSON data: {e}") from e
        if len(answer) <= MOST:
            return answer
        said = f"what it returns has more than {MOST >> 20} MiB"
    except BaseException as e:
        raised = (
            bool(_called)
            and isinstance(e, (Exception, SystemExit))
            and type(e) is not NameError
            and not isinstance(e, _NO_FAULT)
        )
        said = str(e) if isinstance(e, Said) else _last_lines(e)
        if isinstance(e, ImportError) and _roots:
            said += f"\n{_RULE}"
    said = said if len(said) <= LONGEST else "…" + said[-LONGEST:]  # the sign of every cut
    return json.dumps({"error": said, "raised": raised}).encode()


class Said(Exception):
    """What went wrong, in words that need no traceback."""


def _last_lines(error: BaseException) -> str:
    """The end of a traceback from where the user's own code begins."""
    mine = {__file__ if "__file__" in globals() else "", "<string>"}
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename in mine:
        trace = trace.tb_next
    lines = "".join(traceback.format_exception(type(error), error, trace)).strip().splitlines()
    return "\n".join(lines[-LINES:])


def _plain(value: Any) -> Any:
    """JSON's kinds for a few others that scripts return."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    for name in ("model_dump", "to_dict", "tolist"):  # pydantic's, and numpy's
        if callable(getattr(value, name, None)):
            return getattr(value, name)()
    raise TypeError(f"a {type(value).__name__}")


# --- what may be imported -------------------------------------------------------------------------------------


def guard() -> None:
    """Find packages where the interpreter has them, and in the workspace only what is covered.

    Python was started without its packages: looking for them runs files by their name, those of the workspace too.
    """
    global _roots, _installed
    _roots, _installed = map(tuple, json.loads(os.environ.pop("GRADEGATE_FOLDERS")))
    sys.path_hooks.insert(0, CoveredFolder)
    sys.addaudithook(_refuse)
    sys.path += filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    site.ENABLE_USER_SITE = "PYTHONUSERBASE" in os.environ
    site.main()


def _is_guarded(path: str) -> bool:
    """Whether a path is in the workspace, and not in a folder with what was installed there."""
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
        spec = ModuleSpec(name, None)
        spec.submodule_search_locations = [place]
        return spec


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    """Refuse modules that are not covered, however they are loaded, and byte code and packages' descriptions in the workspace."""
    if event in _LOADED:
        loaded = arguments[1] if event == "import" else arguments[0]
        path = str(getattr(loaded, "co_filename", loaded))
        if _LOADED[event].search(path) and path not in _covered and _is_guarded(path):
            # Without byte code, Python takes the source; without its description, a package is not installed
            raise (FileNotFoundError if event == "open" else ImportError)(f"{path} is not imported")


# --- Python ---------------------------------------------------------------------------------------------------


def _call(request: dict[str, Any]) -> Any:
    """A function of a file, imported once; ``{"path", "function", "args"}``."""
    global _roots, _covered  # noqa: PLW0603 - the hooks read them
    path = request["path"]
    name = request["function"]
    if path not in _modules:
        folder = os.path.dirname(path)  # noqa: PTH120 - as the text that it is
        folders = [folder, os.getcwd()]  # noqa: PTH109 - the config's
        if request["covered"] is None:  # what is judged may replace modules of Python, too
            _roots = ()
            sys.path[:0] = folders
        else:
            _covered = request["covered"]
            sys.path += folders
        sys.path_importer_cache.clear()
        spec = importlib.util.spec_from_file_location(
            os.path.basename(path).rpartition(".")[0],  # noqa: PTH119
            path,
        )
        if spec is None or spec.loader is None:
            raise Said(f"{path} is not a Python module")
        module = importlib.util.module_from_spec(spec)
        sys.modules.setdefault(spec.name, module)  # where pickle and dataclasses look it up
        spec.loader.exec_module(module)
        _modules[path] = module
    return _ran(_function(_modules[path], name), request["args"])


def _function(module: Any, name: str) -> Any:
    found = module
    for part in name.split("."):
        if not hasattr(found, part):
            others = [
                key
                for key, value in vars(module).items()
                if inspect.isfunction(value) and key[0] != "_"
            ]
            has = f"; it has {', '.join(others[:10])}" if others else ""
            raise Said(f"there is no function `{name}` in it{has}")
        found = getattr(found, part)
    return found


def _ran(function: Any, args: list[Any]) -> Any:
    _called.append(function)
    value = function(*args)
    return asyncio.run(_awaited(value)) if inspect.isawaitable(value) else value


async def _awaited(value: Any) -> Any:
    return await value


def _inline(request: dict[str, Any]) -> Any:
    """Code of a config: one line is an expression, more are the body of a function; ``{"code", "args"}``."""
    code = request["code"]
    if "\n" in code:
        found = re.search(r"^(?!\s*$)[^\S\n]+", code, re.MULTILINE)
        indent = found[0] if found else "    "
        body = "\n".join(indent + line for line in code.split("\n"))
    else:
        body = f"    return {code}"
    names = {"json": json, "__name__": "assertion"}
    exec(compile(f"def main(output, context):\n{body}\n", "<assertion>", "exec"), names)  # noqa: S102 - what it is for
    return _ran(names["main"], request["args"])


# --- commands -------------------------------------------------------------------------------------------------


def _command(request: dict[str, Any]) -> str:
    """What a program writes to standard output, without colours; ``{"argv"}``. ``{python}`` stands for this interpreter."""
    argv = [sys.executable if part == "{python}" else part for part in request["argv"]]
    try:
        process = subprocess.Popen(  # noqa: S603 - no shell
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
    except (OSError, ValueError) as e:
        raise Said(f"`{argv[0]}` does not start: {e}") from e
    errors: list[bytes] = []
    assert process.stdout
    assert process.stderr
    reader = threading.Thread(target=_drained, args=(process.stderr, errors), daemon=True)
    reader.start()
    output = process.stdout.read(MOST + 1)
    if len(output) > MOST:
        process.kill()
        raise Said(f"`{argv[0]}` writes more than {MOST >> 20} MiB")
    code = process.wait()
    reader.join(1.0)  # a program that it left behind may hold the pipe
    text = _shown(output)
    said = _shown(b"".join(errors))
    if code or (said and not text):
        last = "\n".join(said.splitlines()[-LINES:])
        raise Said(f"`{argv[0]}` ended with {code}" + (f": {last}" if last else ""))
    return text


def _drained(stream: BinaryIO, kept: list[bytes]) -> None:
    """Read a stream to its end and keep the last of it."""
    with contextlib.suppress(OSError, ValueError):
        while part := stream.read1(65536):  # type: ignore[attr-defined]  # a pipe is buffered
            kept[:] = [(b"".join(kept) + part)[-8 * LONGEST :]]


def _shown(content: bytes) -> str:
    return _ESCAPES.sub("", content.decode("utf-8", "replace").strip())


_KINDS = {"call": _call, "inline": _inline, "command": _command}

if __name__ == "__main__":
    guard()
    serve()
