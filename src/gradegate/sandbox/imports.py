"""Finds the files of the repository that a source may import: by the names and the paths in it, without running it."""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

# Imports anywhere, even in a text or a comment. A file too many is better than one that may not be imported.
_PYTHON_IMPORT = re.compile(
    r"""
    \bfrom[^\S\n]+(?P<parent>[.\w]{1,200})[^\S\n]+import\b[^\S\n]*
        (?: \((?P<names_in_brackets>[^)]*) | (?P<names>[^\n;\#]*) )         # from a.b import (c, d)
    | \bimport[^\S\n]+(?P<modules>[^\n;\#]+)                            # import a.b, c as d
    | \b(?:import_module|__import__)\(\s*["'](?P<dynamic>[\w.]{1,200})   # import_module("a.b")
    """,
    re.VERBOSE,
)
_MODULE = re.compile(r"(?:^|,)\s*([\w.]{1,200})")  # `a.b` and `c` in `a.b, c as d`
_NAME = re.compile(r"\w{1,100}")
# JavaScript: a text that may be the path of a module, such as `'./a'`, `"../a/b.js"` and `'#internal'`
_PATH_TEXT = re.compile(r"""["'`](#[^"'`\s]{1,200}|\.{1,2}(?:/[^"'`\n\0]{0,200})?)["'`]""")
# `"main": "` in a package.json, before a path that need not begin with a dot
_MAIN = re.compile(r"""("main"\s*:\s*")""")
_MODULE_SUFFIXES = (".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".json")


# --- Python -----------------------------------------------------------------------------------------------------


def python_modules(source: str, here: Path, folders: list[Path]) -> Iterator[Path]:
    """The files of the repository that a Python source may import. It is in the folder ``here``, and looks into ``folders``, too."""
    for match in _PYTHON_IMPORT.finditer(source.replace("\\\n", " ")):
        names = match["names_in_brackets"] or match["names"] or ""
        modules = [match["parent"] or match["dynamic"] or ""]
        if match["modules"]:
            modules = _MODULE.findall(match["modules"])
        for module in modules:
            steps = [step for step in module.split(".") if step]
            for folder in _search_folders(module, here, folders):
                yield from _module_files(folder, steps, names)


def _search_folders(module: str, here: Path, folders: list[Path]) -> list[Path]:
    """The folders below which Python may find a module; none for a module of Python itself."""
    if module.startswith("."):
        dots = len(module) - len(module.lstrip("."))
        parents = [".."] * (dots - 1)
        return [here.joinpath(*parents).resolve()]
    if module.partition(".")[0] in sys.stdlib_module_names:
        return []  # Python finds its own module before any in the workspace
    return list(dict.fromkeys((here, *folders)))


def _module_files(folder: Path, steps: list[str], names: str) -> Iterator[Path]:
    """The files that ``from steps import names`` may run below a folder. ``names`` is the text behind ``import``."""
    place = folder
    for step in steps:
        place /= step
        yield from filter(_is_file, (place / "__init__.py", place.with_suffix(".py")))
    if "*" in names:
        with suppress(OSError):
            yield from sorted(place.glob("*.py"))
    for name in _NAME.findall(names):
        yield from filter(_is_file, (place / f"{name}.py", place / name / "__init__.py"))


# --- JavaScript and TypeScript ----------------------------------------------------------------------------------


def javascript_modules(source: str, here: Path) -> Iterator[Path]:
    """The files that a JavaScript source in the folder ``here`` may import by a path in it, whatever it does with that path.

    A path that begins with ``#`` leads through the next package.json. Its paths are followed in turn.
    """
    source = _MAIN.sub(r"\1./", source)
    for text in dict.fromkeys(_PATH_TEXT.findall(source)):
        if text.startswith("#"):
            packages = (folder / "package.json" for folder in (here, *here.parents))
            package = next(filter(_is_file, packages), None)
            if package:
                yield package
        else:
            # No loop of links stops `realpath`
            yield from _files_of_path(Path(os.path.realpath(here / text)))


def _files_of_path(path: Path) -> Iterator[Path]:
    """The files that an import of a path may run: its suffix may be missing, or be that of the output of TypeScript."""
    # A file runs whatever its suffix if its name is written in full.
    if _is_file(path):
        yield path

    candidates = [path / "package.json"]  # its `main` is a path, too
    for suffix in _MODULE_SUFFIXES:
        candidates.append(path.parent / f"{path.name}{suffix}")
        candidates.append(path.parent / f"{path.stem}{suffix}")
        candidates.append(path.parent / f"{path.name}/index{suffix}")
    for file in dict.fromkeys(candidates):
        if file != path and file.suffix in _MODULE_SUFFIXES and _is_file(file):
            yield file


def _is_file(path: Path) -> bool:
    """Whether a path leads to a file. A path that is too long leads to none."""
    try:
        return path.is_file()
    except OSError:
        return False
