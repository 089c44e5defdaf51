"""The contract of a dialect: it recognises a config file and reads it into a Suite of plain data."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from gradegate.core.conversation import Variables
from gradegate.core.suite import Idle, Suite
from gradegate.errors import Origin
from gradegate.files.workspace import Workspace
from gradegate.registry import Registry
from gradegate.security.environment import Environment
from gradegate.structs import FrozenStruct


class Source(FrozenStruct):
    """A config file: where it is, its content as read by ``document.read``, and what it may reach."""

    path: Path
    content: Any
    workspace: Workspace
    env: Environment
    variables: Variables = {}  # of every test, over those of a default test
    asks_targets: bool = True  # else they are labels alone, whatever they name
    asks_graders: bool = True
    idle: list[Idle] = []  # gathers the keys that mean nothing

    @property
    def file(self) -> str:
        """The path as messages show it."""
        return self.workspace.name(self.path)

    @property
    def folder(self) -> Path:
        """What relative paths in the config are relative to."""
        return self.path.parent

    def read(self, reference: str, origin: Origin) -> bytes:
        """A file that the config names. Raises ConfigError."""
        return self.workspace.read(reference, self.folder, origin)

    def read_text(self, reference: str, origin: Origin) -> str:
        """A text file that the config names. Raises ConfigError."""
        return self.workspace.text(reference, self.folder, origin)

    def name(self, reference: str, origin: Origin) -> str:
        """A file that the config names, as messages show it. Raises ConfigError."""
        return self.workspace.name(self.workspace.locate(reference, self.folder, origin))


class Dialect(FrozenStruct):
    """A plug-in of ``dialects/``. ``recognises`` looks at the content alone and never raises."""

    name: str
    summary: str  # what its files are, for messages
    recognises: Callable[[Any], bool]
    # What cannot be read is left out, and noted in the suite's mistakes
    read: Callable[[Source], Suite]


DIALECTS: Registry[Dialect] = Registry("dialect", "gradegate.config.dialects")
