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
_roots: tuple[str, ...] = ()  # folders of the workspace, each with a separator at its end
_installed: tuple[str, ...] = ()  # folders in it with what was installed there
# The files of the workspace that may be imported; None: all of them
_covered: frozenset[str] | None = frozenset()
_left_out: dict[str, str] = {}  # files and folders that may not, by the name of the module


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
        if isinstance(e, ImportError) and e.name in _left_out:
            said += f"\n{_refusal(_left_out[e.name])}"
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

    Python was started without all of that: a file of the workspace could have been run by its name.
    """
    global _roots, _installed  # noqa: PLW0603 - the hooks read them
    sys.pycache_prefix = None  # byte code of packages is read, that of the workspace is not
    _roots, _installed = (tuple(json.loads(argument)) for argument in sys.argv[1:])
    _installed += tuple(os.path.join(os.path.realpath(path), "") for path in sys.path)  # noqa: PTH118
    sys.path_hooks.insert(0, CoveredFolder)
    sys.path_importer_cache.clear()
    sys.addaudithook(_audit)
    sys.path += filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    site.ENABLE_USER_SITE = "PYTHONUSERBASE" in os.environ
    site.main()
    sys.path.append(os.getcwd())  # noqa: PTH109 - the config's folder


def _is_in_workspace(path: str) -> bool:
    path = os.path.join(os.path.realpath(path), "")  # noqa: PTH118
    return path.startswith(_roots) and not path.startswith(_installed)


class CoveredFolder:
    """Finds modules in a folder of the workspace: by the list of covered files alone, whatever is in the folder."""

    def __init__(self, folder: str) -> None:
        """Raises ImportError for any other folder, and for a module, which ``runpy`` asks for."""
        if _covered is None or folder.endswith(".py") or not _is_in_workspace(folder):
            raise ImportError(folder)
        self._folder = os.path.abspath(folder)  # noqa: PTH100

    def find_spec(self, name: str, target: Any = None) -> ModuleSpec | None:
        """The module, a package with ``__init__.py`` or without, or None."""
        assert _covered is not None
        last = name.rpartition(".")[2]
        place = os.path.join(self._folder, last)  # noqa: PTH118
        package = os.path.join(place, "__init__.py")  # noqa: PTH118
        for path, inside in ((package, [place]), (f"{place}.py", None)):
            if path in _covered:
                return importlib.util.spec_from_file_location(
                    name, path, submodule_search_locations=inside
                )
        if any(path.startswith(place + os.sep) for path in _covered):
            spec = ModuleSpec(name, None, is_package=True)
            spec.submodule_search_locations = [place]
            return spec
        with contextlib.suppress(OSError):
            for entry in os.listdir(self._folder):  # noqa: PTH208
                if entry.partition(".")[0] == last:
                    _left_out[name] = os.path.join(self._folder, entry)  # noqa: PTH118
        return None


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    """Refuse what code runs by the path of a file, and all byte code of the workspace."""
    if _covered is None or event not in ("exec", "open"):
        return
    runs = event == "exec"
    path = str(getattr(arguments[0], "co_filename", "") if runs else arguments[0])
    if path in _covered or not path.endswith(".py" if runs else ".pyc"):
        return
    if _is_in_workspace(path):
        raise ImportError(_refusal(path)) if runs else FileNotFoundError(path)


def _refusal(path: str) -> str:
    return (
        f"{path} is not imported: it is in the workspace, and no `import` of the code names it. Import it by its name,"
        " or install it in a folder that is not in the commit (docs/exec.md)"
    )


# --- Python ---------------------------------------------------------------------------------------------------


def _call(request: dict[str, Any]) -> Any:
    """A function of a file, imported once; ``{"path", "function", "args"}``."""
    global _covered  # noqa: PLW0603 - the hooks read it
    path = request["path"]
    name = request["function"]
    if path not in _modules:
        folder = os.path.dirname(path)  # noqa: PTH120 - as the text that it is
        if request["covered"] is None:
            _covered = None
            sys.path[:0] = [folder, sys.path.pop()]
        else:
            _covered = frozenset(request["covered"])
            sys.path.insert(-1, folder)
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
    paths = filter(None, (os.getcwd(), os.environ.get("PYTHONPATH")))  # noqa: PTH109
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    try:
        process = subprocess.Popen(  # noqa: S603 - no shell
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=env,
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
