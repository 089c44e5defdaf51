"""The contract of a format of recorded answers: it recognises rows, and parses each file into ``RecordedAnswer``s."""

from collections.abc import Callable, Iterable, Sequence

from gradegate.core.conversation import Turn, Variables
from gradegate.core.provider_spec import NOWHERE
from gradegate.core.usage import NO_USAGE, Usage
from gradegate.errors import Origin
from gradegate.files.documents import Map
from gradegate.registry import Registry
from gradegate.structs import FrozenStruct, JsonObject

CASE = "gradegate.case"  # the attribute of traces that names a call by its id
Rows = list[Map]  # the objects of a file, each with its line


class RecordedQuestion(FrozenStruct):
    """Finds the planned call of an answer without an id: by the text of a prompt or a question, and by what narrows the search."""

    text: str
    whole: bool = False  # the text is the whole prompt, and `vars` are all variables of the call
    vars: Variables = {}
    provider: str = ""  # the name of the target, or its id
    session: str = (
        ""  # the id of a conversation, which an application may take from the id of the call
    )


class RecordedAnswer(FrozenStruct):
    """One answer to a planned call, as it was recorded. Nothing in it is trusted.

    ``id`` or ``question`` names the call. Without ``output``, the last message is the output, or ``error`` says why there
    is no output.
    """

    id: str = ""
    question: RecordedQuestion | None = None
    output: str | None = None
    error: str = ""
    messages: tuple[Turn, ...] = ()  # without those of the system
    # In OpenAI's form. None if the recording does not say whether there were any.
    tool_calls: tuple[JsonObject, ...] | None = None
    calls_unknown: str = ""  # why tool calls may be missing, as a sentence; empty if all are known
    retrieval_context: tuple[str, ...] = ()
    usage: Usage = NO_USAGE
    finish_reason: str = ""
    metadata: JsonObject = {}
    run: int = 0  # the run of the case, from 1; 0 if only the order of the answers says it
    origin: Origin = NOWHERE


class RecordingFile(FrozenStruct):
    """The objects of a file, and its name in messages."""

    name: str
    rows: Rows


class RecordingFormat(FrozenStruct):
    """A plug-in of ``recordings/``.

    ``recognises`` looks at one row and never raises. No row is recognised by two formats. ``read`` returns the answers of
    all files of this format, or raises ConfigError with every mistake.
    """

    name: str
    recognises: Callable[[Map], bool]
    read: Callable[[Sequence[RecordingFile]], Iterable[RecordedAnswer]]


FORMATS: Registry[RecordingFormat] = Registry("shape of answers", "gradegate.recordings")
