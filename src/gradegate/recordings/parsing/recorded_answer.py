"""The contract of a shape: it recognises a file of answers made elsewhere, and reads each into an ``Answer``."""

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
    """What an answer without an id is to: the text of a prompt or a question, and what narrows the search.

    ``provider`` is the name of the target, or its id. ``session`` is the id of a conversation, which an application may take
    from the id of the call. ``whole``: the text is the whole prompt, and ``vars`` are all variables of the call.
    """

    text: str
    whole: bool = False
    vars: Variables = {}
    provider: str = ""
    session: str = ""


class RecordedAnswer(FrozenStruct):
    """One answer to a planned call, as whoever made it wrote it down: data that nobody vouches for.

    It names its call by ``id``, or by its ``question``. Without ``output`` the last message is it, or ``error`` says why
    there is none. ``tool_calls`` have OpenAI's form, and are None where nobody says whether there were any; ``calls_unknown`` says
    why not all of them are known. ``messages`` are what was said, without the system's.
    """

    id: str = ""
    question: RecordedQuestion | None = None
    output: str | None = None
    error: str = ""
    messages: tuple[Turn, ...] = ()
    tool_calls: tuple[JsonObject, ...] | None = None
    calls_unknown: str = ""
    retrieval_context: tuple[str, ...] = ()
    usage: Usage = NO_USAGE
    finish_reason: str = ""
    metadata: JsonObject = {}
    run: int = 0  # which run of its case it is, from 1; 0 where only the order says it
    origin: Origin = NOWHERE


class RecordingFile(FrozenStruct):
    """The objects of a file, and its name in messages."""

    name: str
    rows: Rows


class RecordingFormat(FrozenStruct):
    """A plug-in of ``answers/``. ``recognises`` looks at one row, never raises, and is true of no row of another shape.

    ``read`` gives the answers of all files of that shape, or raises ConfigError with every mistake of them.
    """

    name: str
    recognises: Callable[[Map], bool]
    read: Callable[[Sequence[RecordingFile]], Iterable[RecordedAnswer]]


FORMATS: Registry[RecordingFormat] = Registry("shape of answers", "gradegate.recordings")
