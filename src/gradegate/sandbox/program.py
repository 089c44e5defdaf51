"""Programs: files of code that configs name, with a digest of everything that each will run."""

import hashlib
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from gradegate.errors import ConfigError, Origin
from gradegate.files.git import files_checked_out, repository_of
from gradegate.files.paths import is_hidden
from gradegate.files.workspace import Workspace
from gradegate.sandbox.imports import javascript_modules, python_modules
from gradegate.structs import FrozenStruct

MAX_FILES = 2000  # that belong to one program
TYPESCRIPT_SUFFIXES = (".ts", ".mts", ".cts")
# `PATH.py`, `file://PATH.ts:FUNCTION`, `python:PATH.py`
_REFERENCE = re.compile(
    r"(?:python:|javascript:)?(?:file://)?(.+?\.(?:py|[cm]?[jt]s))(?::(.*))?",
    re.IGNORECASE | re.DOTALL,
)
_QUOTED_WORD = re.compile(r"""["'](\w{1,100})["']""")  # `"name"` in Python
# A name in JavaScript that may be a member of what the code gets: in `.name`, `{name`, `, name` and `"name`
_MEMBER = re.compile(r"""[.{,"'`]\s*(\w{1,100})""")
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
    """The program that a reference of a config in ``folder`` names. Raises ConfigError if it is not a file of the workspace."""
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
        configs = [above / "tsconfig.json" for above in import_folders]
        waiting += filter(Path.is_file, configs)

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
            modules = javascript_modules(source, file.parent)
        for module in modules:
            if module not in files and module.resolve().is_relative_to(workspace.root):
                files.add(module)
                waiting.append(module)
        if len(files) > MAX_FILES:
            raise ConfigError.at(
                f"`{path.name}` imports more than {MAX_FILES} files of the repository",
                origin,
                "give the assertion a smaller module",
            )

    # Packages that the commit contains belong to the program, too.
    package_folders = {above / "node_modules" for file in files for above in file.parents}
    for package_folder in sorted(filter(Path.is_dir, package_folders)):
        if package_folder.is_relative_to(workspace.root):
            committed = files_checked_out(package_folder)
            if committed:
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
    covered_folders = set[Path]()
    is_named = False  # the command or its first argument
    for number, word in enumerate(words):
        with suppress(OSError, ValueError):  # a word that cannot be a path
            place = (folder / word).resolve()
            if not place.exists() or not place.is_relative_to(workspace.root):
                continue
            is_named = is_named or number < 2
            if place.is_file():
                digest.update(hashlib.sha256(workspace.read(word, folder, origin)).digest())
                place = place.parent
            covered_folders.add(place)
    if not is_named:
        covered_folders.add(workspace.root)

    repository = repository_of(workspace.root)
    for place in sorted(covered_folders):
        digest.update(repr(files_checked_out(place, repository)).encode())
    return digest.hexdigest()
