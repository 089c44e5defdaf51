"""scripted: replies from a file, so that a gate can be shown and tested without a model.

``scripted:replies.yaml`` holds a list; the first entry whose ``when`` (a text, or a list of texts) is in the
prompt answers with its ``reply``. A list of replies is given out in order, the last one repeats. An entry without
``when`` answers everything; ``error`` in place of ``reply`` makes the call fail with those words.
"""

import threading
from collections import Counter
from typing import Annotated

from pydantic import BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from gradegate.core.conversation import Reply, Request
from gradegate.core.usage import Usage
from gradegate.core.validation import explain_invalid
from gradegate.errors import ConfigError, Origin, ProviderError, Trouble
from gradegate.files import documents
from gradegate.providers.api.provider import PROVIDERS, Provider, ProviderSetup
from gradegate.security.redaction import excerpt

_Texts = Annotated[
    list[str], BeforeValidator(lambda value: value if isinstance(value, list) else [value])
]


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class _Entry:
    when: _Texts = Field(default_factory=list)
    reply: _Texts = Field(default_factory=list)
    error: str = ""


@PROVIDERS.register("scripted")
class Scripted(Provider):
    """Answers from a file of the workspace."""

    takes_images = True
    names_model = False
    replies_from = "file"
    options = ("file",)

    def __init__(self, setup: ProviderSetup) -> None:
        self.name = setup.spec.name
        origin = setup.spec.origin
        file = setup.model or str(setup.config.get("file", ""))
        if not file:
            raise ConfigError.at("`scripted` names no file", origin, "write scripted:FILE.yaml")
        content = documents.read(setup.open_file(file, origin), file)
        try:
            self._entries = TypeAdapter(list[_Entry]).validate_python(content)
        except ValidationError as e:
            where = e.errors()[0]
            line = documents.line_of(
                content, [step for step in where["loc"] if isinstance(step, str | int)]
            )
            raise ConfigError.at(
                f"the script is not readable: it {explain_invalid(where)[0]}",
                Origin(file, line),
                "write a list of {when, reply}",
            ) from e
        self._turns: Counter[int] = Counter()  # replies so far, by the number of the entry
        self._lock = threading.Lock()

    def complete(self, request: Request) -> Reply:
        """Raises ProviderError for a scripted ``error``, and for a prompt that no entry answers."""
        text = "\n".join(message.content for message in request.messages)
        for number, entry in enumerate(self._entries):
            if all(part in text for part in entry.when):
                if entry.error:
                    raise ProviderError(entry.error, Trouble.STATUS)  # as of a model that is down
                with self._lock:
                    turn = self._turns[number]
                    self._turns[number] += 1
                if entry.reply:
                    return Reply(entry.reply[min(turn, len(entry.reply) - 1)], Usage(calls=1))
        raise ProviderError(f"the script has no reply to: {excerpt(text, 200)!r}")
