"""Code as configs write it: a snippet, or ``file://checks.js`` and ``file://checks.js:name``, which is read here."""

from __future__ import annotations

from pathlib import PurePosixPath

from gradegate.configs.dialect import Source
from gradegate.errors import ConfigError, Origin
from gradegate.files.kinds import is_code
from gradegate.processes import pool
from gradegate.processes.pool import FLAG, INSTEAD, program
from gradegate.processes.program import is_python
from gradegate.texts import script, snippet
from gradegate.texts.script import CodeFile
from gradegate.values.suite import Code

ENDINGS = (".js", ".cjs", ".mjs")
_TYPESCRIPT = (".ts", ".mts", ".cts")


def is_script(written: str) -> bool:
    """Whether a value names a file of JavaScript."""
    return written.startswith("file://") and is_code(written) and _suffix(written) in (*ENDINGS, *_TYPESCRIPT)


def code(written: str, source: Source, origin: Origin, *, engine: bool = False) -> Code:
    """The snippet as it is, or the file with its code: a program where the engine does not have what it uses.

    ``engine``: there runs nothing but the engine. Raises ConfigError for a file that is none of JavaScript.
    """
    if not written.startswith("file://"):
        return written
    if is_python(written):
        return program(written, source.workspace, source.folder, origin, INSTEAD)
    path, _, function = written.removeprefix("file://").rpartition(":")
    if not path or not is_code(path):
        path, function = written.removeprefix("file://"), ""
    suffix = _suffix(path)
    if suffix in _TYPESCRIPT and not engine:
        return program(written, source.workspace, source.folder, origin, f"compile it to one .js file without imports; or {INSTEAD}")
    if suffix in _TYPESCRIPT:
        raise ConfigError.at(f"`{written}` is TypeScript, which does not run here", origin, "compile it to one .js file without imports")
    if suffix not in ENDINGS:
        raise ConfigError.at(f"`{written}` is not a JavaScript file", origin, "name a .js, .cjs or .mjs file")
    reference = f"file://{path}"
    name = source.workspace.name(source.workspace.locate(reference, source.folder, origin))
    text = source.workspace.text(reference, source.folder, origin, code=True)
    if not engine and pool.leave().granted and script.lacks(text):
        return program(written, source.workspace, source.folder, origin, INSTEAD)
    if not engine and (found := snippet.refused(text)):
        raise ConfigError.at(found[0], Origin(name, found[1]), f"{found[2]}; or {FLAG}")
    return CodeFile(file=name, function=function, code=text)


def _suffix(path: str) -> str:
    return PurePosixPath(path.removeprefix("file://").partition(":")[0]).suffix.lower()
