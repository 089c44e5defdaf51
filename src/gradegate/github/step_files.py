"""The files in which a step gives its outputs and its summary to the runner, also if it ends before it can publish."""

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
# What a workflow may paste into a shell script, by `${{ steps.gate.outputs.x }}`, without running it as code.
SAFE = re.compile(r"[A-Za-z0-9_.:/#-]{0,200}")
SEVERAL_LINES = ("reports",)  # outputs with several lines
# A pipe without a reader fails at once.
_APPENDING = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK
NAME = re.compile(r"[a-z][a-z0-9-]*")
MISTAKE = "mistake"  # the decision if the config is wrong, as no run decides then
_LONGEST = 1000  # characters of an error


def split_outputs(values: NamedTexts) -> tuple[dict[str, str], list[str]]:
    """The outputs that are safe in a shell, and the names of the others."""
    safe = {}
    unsafe = []
    for name, value in values.items():
        lines = value.split("\n") if name in SEVERAL_LINES else [value]
        if all(map(SAFE.fullmatch, lines)):
            safe[name] = value
        else:
            unsafe.append(name)
    return safe, unsafe


def format_outputs(values: NamedTexts, token: str = "") -> str:
    """Outputs in the runner's format. Raises ValueError for a bad name, or a value with the delimiter."""
    delimiter = f"gradegate_{token or secrets.token_hex(16)}"
    for name, value in values.items():
        if not NAME.fullmatch(name):
            raise ValueError(f"{name!r} cannot be the name of an output")
        if delimiter in value:
            raise ValueError(f"the output {name!r} holds the delimiter")
    return "".join(f"{name}<<{delimiter}\n{value}\n{delimiter}\n" for name, value in values.items())


def write_outputs(environ: NamedTexts, values: NamedTexts) -> str:
    """Append to ``$GITHUB_OUTPUT``. Returns why it failed, or an empty string."""
    try:
        text = format_outputs(values)
    except ValueError as e:
        return str(e)
    return _append(environ, "GITHUB_OUTPUT", text.encode("utf-8", "replace"))


def append_summary(environ: NamedTexts, text: Escaped) -> str:
    """Append to ``$GITHUB_STEP_SUMMARY``. Returns why it failed, or an empty string."""
    content = text.encode("utf-8", "replace")
    if not content.endswith(b"\n"):
        content += b"\n"
    return _append(environ, "GITHUB_STEP_SUMMARY", content, SUMMARY_LIMIT)


def _append(environ: NamedTexts, variable: str, content: bytes, limit: int | None = None) -> str:
    """Append to the file that a variable names, all or nothing. Returns why it failed, or an empty string."""
    path = environ.get(variable, "")
    if not path:
        return f"{variable} is not set"
    try:
        with os.fdopen(os.open(path, _APPENDING, 0o666), "ab", buffering=0) as file:
            size = file.seek(0, os.SEEK_END)
            if limit is not None and size + len(content) > limit:
                return f"it would be {size + len(content)} bytes and GitHub takes {limit}"
            # Write all or nothing: a record that is cut off makes the runner fail the step, whatever the verdict.
            rest = memoryview(content)
            try:
                while rest:
                    written = file.write(rest)
                    if not written:
                        raise OSError(errno.EAGAIN, "it takes no more")
                    rest = rest[written:]
            except OSError:
                with suppress(OSError):
                    file.truncate(size)
                raise
    except OSError as e:
        return f"{path}: {e.strerror or e}"
    return ""


class LastOutputs(Struct):
    """Around a step: whatever ends it, later steps find outputs."""

    environ: NamedTexts
    is_published: bool = False  # whether the step has written outputs itself

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Write a decision and the error, unless the step has published. Nothing that fails here hides the error."""
        if error is None or self.is_published:
            return
        decision = GateOutcome.INCONCLUSIVE.value
        text = f"{type(error).__name__}: {error}"
        if isinstance(error, ConfigError):
            decision = MISTAKE
            text = str(error)
        elif isinstance(error, KeyboardInterrupt):
            text = "The step was cancelled before there was a verdict."
        write_outputs(self.environ, {"decision": decision})
        block = fence(excerpt(document_redactor(self.environ)(text), _LONGEST))
        title = Markdown("### gradegate could not run")
        append_summary(self.environ, paragraphs(title, "There is no verdict.", block))
