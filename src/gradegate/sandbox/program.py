"""Programs: files of code that configs name, with a digest of everything that each will run."""

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

MAX_FILES = 2000  # that belong to one program
TYPESCRIPT_SUFFIXES = (".ts", ".mts", ".cts")
_REFERENCE = re.compile(
    r"(?:python:|javascript:)?(?:file://)?(.+?\.(?:py|[cm]?[jt]s))(?::(.*))?",
    re.IGNORECASE | re.DOTALL,
)
# Python: imports anywhere, even in a text or a comment. A file too many is better than one that may not be imported.
_IMPORTS = re.compile(
    r"\bfrom[^\S\n]+([.\w]{1,200})[^\S\n]+import\b[^\S\n]*(?:\(([^)]*)|([^\n;#]*))"
    r"|\bimport[^\S\n]+([^\n;#]+)"
    r"""|\b(?:import_module|__import__)\(\s*["']([\w.]{1,200})"""
)
_MODULE = re.compile(r"(?:^|,)\s*([\w.]{1,200})")
_NAME = re.compile(r"\w{1,100}")
_QUOTED_WORD = re.compile(r"""["'](\w{1,100})["']""")
# JavaScript: a text that may be the path of a module, and a name that may be a member of what the code gets.
_PATH_TEXT = re.compile(r"""["'`](#[^"'`\s]{1,200}|\.{1,2}(?:/[^"'`\n\0]{0,200})?)["'`]""")
_MEMBER = re.compile(r"""[.{,"'`]\s*(\w{1,100})""")
# In a package.json: a path that need not begin with a dot
_MAIN = re.compile(r"""("main"\s*:\s*")""")
_MODULE_SUFFIXES = (".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".json")
# The parts of a command as promptfoo splits it, which is no shell
_COMMAND_PARTS = re.compile(r"""[^\s"']+|"([^"]*)"|'([^']*)'""")


class ProgramFile(FrozenStruct):
    """A file of code and a function in it, empty if none is named; ``folder`` is that of the config.

    ``covered_files`` are the files of the digest, including this one. A judge may import no other file of the workspace.
    """

    path: Path
    function: str
    folder: Path
    covered_files: tuple[str, ...]

    @property
    def is_python(self) -> bool:
        """Whether the file is Python; else it is JavaScript or TypeScript."""
        return is_python(str(self.path))


class Program(dict[str, str]):
    """A file of code in a suite: a mapping that identifies it in every checkout, and beside that the file itself."""

    def __init__(
        self, reference: str, name: str, digest: str, file: ProgramFile, words: frozenset[str]
    ) -> None:
        super().__init__(reference=reference, file=name, digest=digest)
        self.file = file
        self.words = words  # its quoted words, by which it may look into its arguments

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
    """The path of ``file://x.py:function`` and the function, empty if none is named."""
    match = _REFERENCE.fullmatch(reference)
    if match is None:
        return reference.removeprefix("file://"), ""
    return match[1], match[2] or ""


def is_python(reference: Any) -> bool:
    """Whether a reference names a Python file."""
    return isinstance(reference, str) and split_reference(reference)[0].lower().endswith(".py")


def is_javascript(reference: str) -> bool:
    """Whether a reference names a file of JavaScript or TypeScript."""
    return _REFERENCE.fullmatch(reference) is not None and not is_python(reference)


def read_program(reference: str, workspace: Workspace, folder: Path, origin: Origin) -> Program:
    """The program that a reference names. Raises ConfigError if it is not a file of the workspace."""
    name, function = split_reference(reference)
    path = workspace.locate(name, folder, origin)
    config_folder = folder.resolve()
    import_folders = [config_folder]
    for above in (*path.parents, config_folder, *config_folder.parents):
        # A folder outside of the workspace counts as hidden, too
        if not is_hidden(Path(os.path.relpath(above, workspace.root))):
            import_folders += (above, above / "src")

    waiting = [path]
    if path.suffix.lower() in TYPESCRIPT_SUFFIXES:
        waiting += filter(Path.is_file, [above / "tsconfig.json" for above in import_folders])

    # Read the file, the modules that it may import, and the modules that these may import.
    digest = hashlib.sha256()
    words = set[str]()
    files = set(waiting)
    while waiting:
        file = waiting.pop(0)
        content = workspace.read(str(file), folder, origin)
        file_name = os.fsencode(os.path.relpath(file, config_folder))
        digest.update(file_name + hashlib.sha256(content).digest())
        source = content.decode("utf-8", "replace")
        if is_python(name):
            words |= quoted_words(source)
            modules = python_modules(source, file.parent, import_folders)
        else:
            words.update(_MEMBER.findall(source))
            modules = _javascript_modules(source, file.parent)
        for module in modules:
            if module.resolve().is_relative_to(workspace.root) and module not in files:
                files.add(module)
                waiting.append(module)
        if len(files) > MAX_FILES:
            raise ConfigError.at(
                f"`{path.name}` imports more than {MAX_FILES} files of the repository",
                origin,
                "give the assertion a smaller module",
            )

    # Packages that the commit contains belong to the program, too.
    packages = {above / "node_modules" for file in files for above in file.parents}
    for package in sorted(filter(Path.is_dir, packages)):
        if package.is_relative_to(workspace.root) and (committed := files_checked_out(package)):
            digest.update(repr(committed).encode())
    return Program(
        reference,
        workspace.name(path),
        digest.hexdigest(),
        ProgramFile(path, function, folder, tuple(map(str, files))),
        frozenset(words),
    )


def quoted_words(source: str) -> set[str]:
    """The texts of a Python source that are one word."""
    return set(_QUOTED_WORD.findall(source))


def split_command(command: str) -> list[str]:
    """The words of an ``exec:`` command; no shell sees them."""
    return [
        match[1] or match[2] or match[0].strip("\"'") for match in _COMMAND_PARTS.finditer(command)
    ]


def command_digest(words: list[str], workspace: Workspace, folder: Path, origin: Origin) -> str:
    """SHA-256 of the workspace files among the words of a command, and of all that the commit has in their folders.

    For a folder among the words, it covers all that is in it. If neither the command nor its first argument is such a file or
    folder, the command may run anything, and the digest covers all of the commit. Raises ConfigError.
    """
    digest = hashlib.sha256()
    folders = set[Path]()
    places = set[str]()  # the words that are files or folders
    for word in words:
        with suppress(OSError, ValueError):
            place = (folder / word).resolve()
            if not place.exists() or not place.is_relative_to(workspace.root):
                continue
            places.add(word)
            if place.is_file():
                digest.update(hashlib.sha256(workspace.read(word, folder, origin)).digest())
                place = place.parent
            folders.add(place)
    if places.isdisjoint(words[:2]):
        folders.add(workspace.root)
    repository = repository_of(workspace.root)
    for place in sorted(folders):
        digest.update(repr(files_checked_out(place, repository)).encode())
    return digest.hexdigest()


def python_modules(source: str, here: Path, folders: list[Path]) -> Iterator[Path]:
    """The files of the repository that a Python source may import, by their names only."""
    for start, names_in_brackets, names, plain, dynamic in _IMPORTS.findall(
        source.replace("\\\n", " ")
    ):
        for module in _MODULE.findall(plain) or [start or dynamic]:
            steps = [step for step in module.split(".") if step]
            dots = len(module) - len(module.lstrip("."))
            if dots:
                parents = [".."] * (dots - 1)
                search_folders = [here.joinpath(*parents).resolve()]
            elif steps and steps[0] in sys.stdlib_module_names:
                continue  # Python finds its own module before any in the workspace
            else:
                search_folders = list(dict.fromkeys((here, *folders)))
            for folder in search_folders:
                yield from _module_files(folder, steps, names_in_brackets + names)


def _module_files(folder: Path, steps: list[str], names: str) -> Iterator[Path]:
    """The files that ``from steps import names`` may run below a folder."""
    place = folder
    for step in steps:
        place /= step
        yield from filter(_is_file, (place / "__init__.py", place.with_suffix(".py")))
    if "*" in names:
        with suppress(OSError):
            yield from sorted(place.glob("*.py"))
    for name in _NAME.findall(names):
        yield from filter(_is_file, (place / f"{name}.py", place / name / "__init__.py"))


def _javascript_modules(source: str, here: Path) -> Iterator[Path]:
    """The files that a JavaScript source may import by a path in it, whatever it does with that path.

    A path that begins with ``#`` leads through the next package.json. Its paths are followed in turn.
    """
    source = _MAIN.sub(r"\1./", source)
    for text in dict.fromkeys(_PATH_TEXT.findall(source)):
        if text.startswith("#"):
            packages = (folder / "package.json" for folder in (here, *here.parents))
            package = next(filter(_is_file, packages), None)
            if package:
                yield package
            continue

        # A file runs whatever its suffix if its name is written in full.
        path = Path(os.path.realpath(here / text))  # which no loop of links stops
        if _is_file(path):
            yield path
        candidates = [path / "package.json"]  # its `main` is a path, too
        for suffix in _MODULE_SUFFIXES:
            # TypeScript names the output, so the suffix may stand in place of another
            names = f"{path.name}{suffix}", f"{path.stem}{suffix}", f"{path.name}/index{suffix}"
            candidates += map(path.parent.joinpath, names)
        for file in dict.fromkeys(candidates):
            if file != path and file.suffix in _MODULE_SUFFIXES and _is_file(file):
                yield file


def _is_file(path: Path) -> bool:
    """Whether a path leads to a file. A path that is too long leads to none."""
    try:
        return path.is_file()
    except OSError:
        return False
