"""The files by which a step talks to the runner, its outputs and its summary; and what it leaves when it ends before it can publish."""

import errno
import os
import re
import secrets
from contextlib import suppress
from types import TracebackType
from typing import Self

from gradegate.errors import ConfigError
from gradegate.reports.format.escape import Escaped
from gradegate.reports.format.markdown import Markdown, fence, paragraphs
from gradegate.results.run_result import GateOutcome
from gradegate.security.redaction import excerpt
from gradegate.security.secrets import document_redactor
from gradegate.structs import NamedTexts, Struct

SUMMARY_LIMIT = 1024 * 1024  # bytes per step; the runner drops the whole summary above it
# What may be pasted into a shell script by `${{ steps.gate.outputs.x }}` without becoming code.
SAFE = re.compile(r"[A-Za-z0-9_.:/#-]{0,200}")
OF_LINES = ("reports",)  # outputs of several lines
# A pipe without a reader is refused, and not waited for.
_APPENDING = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK
NAME = re.compile(r"[a-z][a-z0-9-]*")
MISTAKEN = "mistake"  # the decision when the config is wrong: no run decided then
_LONGEST = 1000  # characters of an error


def safe_outputs(values: NamedTexts) -> tuple[dict[str, str], list[str]]:
    """The values that a later step can use without harm, and the names of the others."""
    unsafe = []
    for name, value in values.items():
        lines = value.split("\n") if name in OF_LINES else [value]
        if not all(SAFE.fullmatch(line) for line in lines):
            unsafe.append(name)
    return {name: value for name, value in values.items() if name not in unsafe}, unsafe


def outputs_text(values: NamedTexts, token: str = "") -> str:
    """Outputs in the runner's format. Raises ValueError for a bad name or a value that holds the delimiter."""
    delimiter = f"gradegate_{token or secrets.token_hex(16)}"
    for name, value in values.items():
        if not NAME.fullmatch(name):
            raise ValueError(f"{name!r} cannot be the name of an output")
        if delimiter in value:
            raise ValueError(f"the output {name!r} holds the delimiter")
    return "".join(f"{name}<<{delimiter}\n{value}\n{delimiter}\n" for name, value in values.items())


def write_outputs(environ: NamedTexts, values: NamedTexts) -> str:
    """Append to ``$GITHUB_OUTPUT``. Returns why not, or an empty string."""
    try:
        return _append(environ, "GITHUB_OUTPUT", outputs_text(values).encode("utf-8", "replace"))
    except ValueError as e:
        return str(e)


def append_summary(environ: NamedTexts, text: Escaped) -> str:
    """Append to ``$GITHUB_STEP_SUMMARY``. Returns why not, or an empty string."""
    content = text.encode("utf-8", "replace")
    if not content.endswith(b"\n"):
        content += b"\n"
    return _append(environ, "GITHUB_STEP_SUMMARY", content, SUMMARY_LIMIT)


def _append(environ: NamedTexts, variable: str, content: bytes, limit: int | None = None) -> str:
    path = environ.get(variable, "")
    if not path:
        return f"{variable} is not set"
    try:
        with os.fdopen(os.open(path, _APPENDING, 0o666), "ab", buffering=0) as file:
            size = file.seek(0, os.SEEK_END)
            if limit is not None and size + len(content) > limit:
                return f"it would be {size + len(content)} bytes and GitHub takes {limit}"
            # Write all or nothing: a record that is cut off makes the runner fail the step, whatever the verdict.
            left = memoryview(content)
            try:
                while left:
                    written = file.write(left)
                    if not written:
                        raise OSError(errno.EAGAIN, "it takes no more")
                    left = left[written:]
            except OSError:
                with suppress(OSError):
                    file.truncate(size)
                raise
    except OSError as e:
        return f"{path}: {e.strerror or e}"
    return ""


class Ending(Struct):
    """Around a step: whatever ends it, a later step finds outputs. ``settled`` once they are written."""

    environ: NamedTexts
    settled: bool = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Leave what is known of the end; nothing that fails here hides the error."""
        if error is None or self.settled:
            return
        decision = GateOutcome.INCONCLUSIVE.value
        if isinstance(error, ConfigError):
            decision, said = MISTAKEN, str(error)
        elif isinstance(error, KeyboardInterrupt):
            said = "The step was cancelled before there was a verdict."
        else:
            said = f"{type(error).__name__}: {error}"
        write_outputs(self.environ, {"decision": decision})
        block = fence(excerpt(document_redactor(self.environ)(said), _LONGEST))
        title = Markdown("### gradegate could not run")
        append_summary(self.environ, paragraphs(title, "There is no verdict.", block))
