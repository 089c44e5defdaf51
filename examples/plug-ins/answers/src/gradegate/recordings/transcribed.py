"""transcribed: ``{"asked", "said"}``, as a telephone bot writes its calls down."""

from collections.abc import Sequence

from gradegate.errors import ConfigError, Origin
from gradegate.files.documents import Map
from gradegate.recordings.parsing import fields
from gradegate.recordings.parsing.recorded_answer import (
    FORMATS,
    RecordedAnswer,
    RecordedQuestion,
    RecordingFile,
    RecordingFormat,
)


def recognises(row: Map) -> bool:
    """What was ``asked`` and ``said``."""
    return {"asked", "said"} <= row.keys()


def read(files: Sequence[RecordingFile]) -> list[RecordedAnswer]:
    """An answer for each call. Raises ConfigError."""
    return fields.read_rows(files, _answer)


def _answer(row: Map, origin: Origin) -> RecordedAnswer:
    if not isinstance(row.get("asked"), str):
        raise ConfigError.at("`asked` is no text", origin, "write what the caller asked")
    said = fields.as_text(row.get("said"))
    return RecordedAnswer(
        question=RecordedQuestion(row["asked"]),
        output=said,
        error="" if said is not None else "nothing was said",
        origin=origin,
    )


FORMATS.register("transcribed")(RecordingFormat("transcribed", recognises, read))
