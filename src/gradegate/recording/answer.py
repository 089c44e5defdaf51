"""The contract of a shape: it recognises a file of answers made elsewhere, and reads each into an ``Answer``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gradegate.conversation import NO_USAGE, Turn, Usage
from gradegate.errors import Origin
from gradegate.files.lines import Map
from gradegate.registry import Registry
from gradegate.suite import NOWHERE

CASE = "gradegate.case"  # the attribute of traces and trajectories that names a call by its id
Rows = list[Map]  # the objects of a file, each with its line


@dataclass(frozen=True, slots=True)
class Question:
    """What an answer without an id is to: the text of a prompt or a question, and what narrows the search.

    ``vars`` are variables that the planned call has, too; ``provider`` is the name of its target, or its id. ``session`` is
    the id of a conversation, which an application may take from the id of the call.
    """

    text: str
    vars: Mapping[str, Any] = field(default_factory=dict)
    provider: str = ""
    session: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer to a planned call, as whoever made it wrote it down: data that nobody vouches for.

    It names its call by ``id``, or by its ``question``. Without ``output`` the last message is it, or ``error`` says why
    there is none. ``tool_calls`` have OpenAI's form, and are None where nobody says whether there were any; ``messages`` are what was said, without the system's.
    """

    id: str = ""
    question: Question | None = None
    output: str | None = None
    error: str = ""
    messages: tuple[Turn, ...] = ()
    tool_calls: tuple[Mapping[str, Any], ...] | None = None
    retrieval_context: tuple[str, ...] = ()
    usage: Usage = NO_USAGE
    finish_reason: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    origin: Origin = NOWHERE


@dataclass(frozen=True, slots=True)
class Shape:
    """A plug-in of ``answers/``. ``recognises`` looks at the rows of a file, never raises, and is true of no other shape.

    ``read`` gives the answers of a file of that name, or raises ConfigError with every mistake of it.
    """

    name: str
    summary: str  # one line for ``gradegate list``
    recognises: Callable[[Rows], bool]
    read: Callable[[Rows, str], Iterable[Answer]]


SHAPES: Registry[Shape] = Registry("shape of answers", "gradegate.answers")
