"""Everything that gradegate raises, and the place in a file that a message points to.

GradegateError
+-- ConfigError      the user's mistakes, all of them together; exit code 2
|   +-- NoPartsError     no shard left anything at all
+-- ProviderError    a model could not be asked or did not answer; becomes a Grade(ERROR)
+-- NoVerdict        a grader answered, but its reply has no verdict; becomes a Grade(ERROR)
+-- Unreadable       one reply could not be read; the judge re-asks, then raises NoVerdict
    +-- OffSchema        a reply is not of the schema that its endpoint enforces
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Self

from gradegate.structs import FrozenStruct


class Origin(FrozenStruct):
    """A place in a file of the workspace: ``file`` relative to it, ``line`` from 1 (0: the file as a whole)."""

    file: str
    line: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


class Mistake(FrozenStruct):
    """What is wrong, where, and what to do about it."""

    what: str
    origin: Origin | None = None
    cure: str = ""
    missing: str = ""  # the variable of the environment with the key that is missing
    excerpt: str = ""  # the line of the file with a mark below the place, for a terminal

    def __str__(self) -> str:
        place = f"{self.origin}: " if self.origin else ""
        cure = f" -> {self.cure}" if self.cure else ""
        return f"{place}{self.what}{cure}"


class GradegateError(Exception):
    """The base of everything that gradegate raises on purpose."""


class ConfigError(GradegateError):
    """The user's mistakes. ``mistakes`` has all of them."""

    def __init__(self, *mistakes: Mistake) -> None:
        super().__init__("\n".join(map(str, mistakes)))
        self.mistakes = mistakes

    @property
    def missing(self) -> frozenset[str]:
        """The variables that would cure all mistakes. Empty if anything else is wrong, too."""
        names = frozenset(mistake.missing for mistake in self.mistakes)
        return frozenset() if "" in names else names

    @classmethod
    def at(cls, what: str, origin: Origin | None = None, cure: str = "", missing: str = "") -> Self:
        """An error with one mistake."""
        return cls(Mistake(what, origin, cure, missing))

    @classmethod
    def join(cls, errors: Iterable[ConfigError]) -> ConfigError:
        """One error with the mistakes of several, each once."""
        return cls(*dict.fromkeys(mistake for error in errors for mistake in error.mistakes))


class Complaints:
    """A base for classes that gather ``mistakes``."""

    __slots__ = ()
    mistakes: list[Mistake]

    def say(self, what: str, origin: Origin | None, cure: str) -> None:
        """Note a mistake."""
        self.mistakes.append(Mistake(what, origin, cure))


@contextmanager
def gather_mistakes(mistakes: list[Mistake]) -> Iterator[None]:
    """Catch a ConfigError of the block and add its mistakes to the list. The caller goes on after the block."""
    try:
        yield
    except ConfigError as e:
        mistakes += e.mistakes


class Trouble(enum.Enum):
    """Why a provider gave no answer."""

    SETUP = "setup"  # a wrong key, model or address: only the user can fix it
    UNREACHABLE = "unreachable"  # no connection
    INCOMPLETE = "incomplete"  # a connection, but no complete response
    STATUS = "status"  # busy or down by its status, after all retries
    DEADLINE = "deadline"  # no answer in time
    REFUSED = "refused"  # the model or a content filter declined
    TRUNCATED = "truncated"  # the answer stopped at the token limit
    MALFORMED = "malformed"  # the answer is not what the API promises, or refuses this very request
    WITHHELD = "withheld"  # not sent, because the request has a credential in a wrong place
    STOPPED = "stopped"  # the run was interrupted, or its budget is spent


# Nothing came that a failure could be found in.
NO_ANSWER = frozenset({Trouble.UNREACHABLE, Trouble.INCOMPLETE, Trouble.STATUS, Trouble.DEADLINE})


class NoPartsError(ConfigError):
    """No shard left anything at all."""


class ProviderError(GradegateError):
    """A model gave no answer. The message is in the provider's own words if it gave any.

    ``refusing_model`` is the model, with its host, that answered with an error status. It is empty if that is not the reason.
    """

    def __init__(
        self,
        message: str,
        trouble: Trouble = Trouble.MALFORMED,
        status: int | None = None,
        refusing_model: str = "",
    ) -> None:
        super().__init__(message)
        self.trouble = trouble
        self.status = status
        self.refusing_model = refusing_model


class Unreadable(GradegateError):
    """A reply cannot be read. The message says what is missing, in words that the grader can act on.

    ``allowed`` are the values that a verdict can have. The grader does not see them again, because it could repeat one as its verdict.
    """

    def __init__(self, message: str, allowed: Iterable[object] = ()) -> None:
        super().__init__(message)
        self.allowed = tuple(map(str, allowed))

    @property
    def full_message(self) -> str:
        """The message for the report, with the allowed values."""
        return f"{self} ({', '.join(self.allowed)})" if self.allowed else str(self)


class OffSchema(Unreadable):
    """A reply is not of the schema that its endpoint enforces."""


class NoVerdict(GradegateError):
    """No verdict, even after a re-ask. ``replies`` are the texts of the grader."""

    def __init__(self, message: str, replies: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.replies = replies


class Terminated(KeyboardInterrupt):
    """SIGTERM: the process stops as at Ctrl-C, and exits with 143."""
