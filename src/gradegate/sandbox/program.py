"""Code of the repository as configs name it: a file with a function in it, with a digest of what it will run."""

import hashlib
import os
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from gradegate.errors import ConfigError, Origin
from gradegate.files.git import files_checked_out, repository_of
from gradegate.files.paths import is_hidden
from gradegate.files.workspace import Workspace
from gradegate.structs import FrozenStruct

MOST_FILES = 2000  # that belong to one program
# Wherever it stands, in a text or a comment too: a file too many is better than one that may not be imported.
_IMPORTS = re.compile(
    r"\bfrom[^\S\n]+([.\w]{1,200})[^\S\n]+import\b[^\S\n]*(?:\(([^)]*)|([^\n;#]*))"
    r"|\bimport[^\S\n]+([^\n;#]+)"
    r"""|\b(?:import_module|__import__)\(\s*["']([\w.]{1,200})"""
)
_MODULE = re.compile(r"(?:^|,)\s*([\w.]{1,200})")
_QUOTED = re.compile(r"""["'](\w{1,100})["']""")
_REFERENCE = re.compile(
    r"(?:python:|javascript:)?(?:file://)?(.+?\.(?:py|[cm]?[jt]s))(?::(.*))?",
    re.IGNORECASE | re.DOTALL,
)
# JavaScript: what may be a path to a module, and what may be a member of what the code is told.
_LITERAL = re.compile(r"""["'`](#[^"'`\s]{1,200}|\.{1,2}(?:/[^"'`\n\0]{0,200})?)["'`]""")
# Of a package.json: a path that need not begin with a dot
_MAIN = re.compile(r"""("main"\s*:\s*")""")
_MEMBER = re.compile(r"""[.{,"'`]\s*(\w{1,100})""")
TYPESCRIPT_SUFFIXES = (".ts", ".mts", ".cts")
_MODULES = (".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".json")
# As promptfoo takes a command apart, which is no shell
_PARTS = re.compile(r"""[^\s"']+|"([^"]*)"|'([^']*)'""")


class ProgramFile(FrozenStruct):
    """A file of code and a function in it, empty where none is named; ``folder`` is the config's.

    ``covered_files`` are the files of the digest, this one among them: of the workspace, a judge imports no other.
    """

    path: Path
    function: str
    folder: Path
    covered_files: tuple[str, ...]

    @property
    def is_python(self) -> bool:
        """Whether it is Python; else it is JavaScript or TypeScript."""
        return is_python(str(self.path))


class Program(dict[str, str]):
    """A file of code as suites hold it: what tells it from others in every checkout, and beside that where it is."""

    def __init__(
        self, reference: str, name: str, digest: str, file: ProgramFile, words: frozenset[str]
    ) -> None:
        super().__init__(reference=reference, file=name, digest=digest)
        self.file = file
        self.words = words  # those in quotes, by which it may look into what it is told

    @property
    def digest(self) -> str:
        """SHA-256 of all that it runs."""
        return self["digest"]

    @property
    def shown(self) -> str:
        """As reports show it."""
        return f"{self['reference']} (SHA-256 {self.digest[:32]})"

    def __str__(self) -> str:
        return self["reference"]


def split_reference(reference: str) -> tuple[str, str]:
    """The path of ``file://x.py:function`` and the function, empty where none is named."""
    found = _REFERENCE.fullmatch(reference)
    return (found[1], found[2] or "") if found else (reference.removeprefix("file://"), "")


def is_python(reference: Any) -> bool:
    """Whether a reference is that of a Python file."""
    return isinstance(reference, str) and split_reference(reference)[0].lower().endswith(".py")


def is_javascript(reference: str) -> bool:
    """Whether a reference is that of a file of JavaScript or TypeScript."""
    return _REFERENCE.fullmatch(reference) is not None and not is_python(reference)


def read_program(reference: str, workspace: Workspace, folder: Path, origin: Origin) -> Program:
    """The program that a reference names. Raises ConfigError where it is not a file of the workspace."""
    name, function = split_reference(reference)
    path = workspace.locate(name, folder, origin)
    home = folder.resolve()
    folders = [home]
    for above in (*path.parents, home, *home.parents):
        if not is_hidden(Path(os.path.relpath(above, workspace.root))):  # outside is hidden, too
            folders += (above, above / "src")
    digest = hashlib.sha256()
    words = set[str]()
    waiting = [path]
    if path.suffix.lower() in TYPESCRIPT_SUFFIXES:
        waiting += filter(Path.is_file, [above / "tsconfig.json" for above in folders])
    seen = set(waiting)
    # With the modules that it may import, and those that these import
    while waiting:
        file = waiting.pop(0)
        content = workspace.read(str(file), folder, origin)
        digest.update(os.fsencode(os.path.relpath(file, home)) + hashlib.sha256(content).digest())
        source = content.decode("utf-8", "replace")
        if is_python(name):
            words |= quoted_words(source)
            modules = _imported(source, file.parent, folders)
        else:
            words.update(_MEMBER.findall(source))
            modules = _modules(source, file.parent)
        for found in modules:
            if found.resolve().is_relative_to(workspace.root) and found not in seen:
                seen.add(found)
                waiting.append(found)
        if len(seen) > MOST_FILES:
            what = f"`{path.name}` imports more than {MOST_FILES} files of the repository"
            raise ConfigError.at(what, origin, "give the assertion a smaller module")
    packages = {above / "node_modules" for file in seen for above in file.parents}
    for place in sorted(filter(Path.is_dir, packages)):
        if place.is_relative_to(workspace.root) and (committed := files_checked_out(place)):
            digest.update(repr(committed).encode())
    return Program(
        reference,
        workspace.name(path),
        digest.hexdigest(),
        ProgramFile(path, function, folder, tuple(map(str, seen))),
        frozenset(words),
    )


def quoted_words(source: str) -> set[str]:
    """The texts of a Python source that are one word."""
    return set(_QUOTED.findall(source))


def split_command(command: str) -> list[str]:
    """The words of an ``exec:`` command; no shell sees them."""
    return [
        next(filter(None, match.groups()), "") or match[0].strip("\"'")
        for match in _PARTS.finditer(command)
    ]


def command_digest(words: list[str], workspace: Workspace, folder: Path, origin: Origin) -> str:
    """SHA-256 of the files of the workspace among the words of a command, and of all that the commit has in their folders.

    Of a folder among them it is all in it. Unless the command is such a file or folder, or a program with one as its first
    argument, it may run anything, and it is all of the commit. Raises ConfigError.
    """
    digest = hashlib.sha256()
    repository = repository_of(workspace.root)
    folders = set[Path]()
    named = set[str]()
    for word in words:
        with suppress(OSError, ValueError):
            file = (folder / word).resolve()
            if not file.exists() or not file.is_relative_to(workspace.root):
                continue
            named.add(word)
            if file.is_file():
                digest.update(hashlib.sha256(workspace.read(word, folder, origin)).digest())
                file = file.parent
            folders.add(file)
    if named.isdisjoint(words[:2]):
        folders.add(workspace.root)
    for place in sorted(folders):
        digest.update(repr(files_checked_out(place, repository)).encode())
    return digest.hexdigest()


def _imported(source: str, here: Path, folders: list[Path]) -> Iterator[Path]:
    """The files of the repository that a source may import, by their names alone."""
    for start, in_brackets, names, plain, dynamic in _IMPORTS.findall(source.replace("\\\n", " ")):
        for module in _MODULE.findall(plain) or [start or dynamic]:
            dots = len(module) - len(module.lstrip("."))
            above = here.joinpath(*[".."] * (dots - 1)).resolve() if dots else here
            steps = [step for step in module.split(".") if step]
            if not dots and steps[:1] and steps[0] in sys.stdlib_module_names:
                continue  # Python finds its own before any in the workspace
            for folder in (above,) if dots else dict.fromkeys((here, *folders)):
                yield from _files(folder, steps, in_brackets + names)


def _files(folder: Path, steps: list[str], names: str) -> Iterator[Path]:
    below = folder
    for step in steps:
        below /= step
        yield from filter(_is_file, (below / "__init__.py", below.with_suffix(".py")))
    if "*" in names:
        with suppress(OSError):
            yield from sorted(below.glob("*.py"))
    for name in re.findall(r"\w{1,100}", names):
        yield from filter(_is_file, (below / f"{name}.py", below / name / "__init__.py"))


def _is_file(path: Path) -> bool:
    """Whether a path leads to a file, which one that is too long for any does not."""
    try:
        return path.is_file()
    except OSError:
        return False


def _modules(source: str, here: Path) -> Iterator[Path]:
    """The files that a source of JavaScript may import by a path in it, whatever is done with that path.

    One that begins with ``#`` leads through the next package.json, whose paths are looked at in turn.
    """
    source = _MAIN.sub(r"\1./", source)
    for written in dict.fromkeys(_LITERAL.findall(source)):
        if written.startswith("#"):
            yield from [
                path
                for folder in (here, *here.parents)
                if _is_file(path := folder / "package.json")
            ][:1]
            continue
        path = Path(os.path.realpath(here / written))  # which no loop of links stops
        found = [path, path / "package.json"]  # whose `main` is a path, too
        for ending in _MODULES:
            # TypeScript names what will be made of it
            named = (f"{path.name}{ending}", f"{path.stem}{ending}", f"{path.name}/index{ending}")
            found += map(path.parent.joinpath, named)
        for file in dict.fromkeys(found):
            # What is named as it is called runs, whatever its ending
            if (file == path or file.suffix in _MODULES) and _is_file(file):
                yield file
