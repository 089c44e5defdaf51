"""How GitHub's runner reads what a step leaves behind: commands in its log, its outputs, its summary.

Follows ActionCommand, ActionCommandManager and the file commands of actions/runner; used as the oracle for what we write.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ANNOTATIONS = ("error", "warning", "notice")
REGISTERED = frozenset(
    {
        *ANNOTATIONS,
        *("set-env", "set-output", "save-state", "add-path", "add-mask", "add-matcher", "remove-matcher"),
        *("debug", "echo", "group", "endgroup", "stop-commands"),
    }
)
FORBIDDEN = frozenset({"set-env", "add-path"})  # the step fails
# Its string comparisons go by culture, which does not see these.
UNSEEN = re.compile("[\x00-\x08\x0e-\x1f\x7f\xad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]")
PER_KIND = 10  # further annotations are only logged
SUMMARY_LIMIT = 1024 * 1024

Escapes = tuple[tuple[str, str], ...]
# Order as in the runner: "%25" last, so that an escaped percent sign cannot make a new escape.
DATA: Escapes = (("%0D", "\r"), ("%0A", "\n"), ("%25", "%"))
PROPERTY: Escapes = (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%"))
OLD: Escapes = (("%3B", ";"), ("%0D", "\r"), ("%0A", "\n"), ("%5D", "]"), ("%25", "%"))


@dataclass(frozen=True)
class Command:
    """One workflow command; ``name`` in lower case."""

    name: str
    data: str
    properties: dict[str, str] = field(default_factory=dict)


class FailedStep(Exception):
    """The runner marks the step as failed, whatever its exit code."""


def commands(log: str) -> list[Command]:
    """Every command that the runner obeys in a log of standard output and standard error."""
    return list(_obeyed(log))


def shown_annotations(log: str) -> list[Command]:
    """What the pull request shows: the first ten of each kind."""
    seen: dict[str, int] = dict.fromkeys(ANNOTATIONS, 0)
    found = []
    for command in commands(log):
        if command.name in seen and seen[command.name] < PER_KIND:
            seen[command.name] += 1
            found.append(command)
    return found


def _obeyed(log: str) -> Iterator[Command]:
    token = ""
    for line in re.split(r"\r\n|\r|\n", log):  # StreamReader.ReadLine
        command = parse(line, REGISTERED | ({token} if token else frozenset()))
        if command is None or (token and command.name != token):
            continue
        if token:
            token = ""
        elif command.name == "stop-commands":
            token = command.data.lower()
        elif command.name in FORBIDDEN:
            raise FailedStep(f"the command {command.name} is disabled")
        yield command


def parse(line: str, registered: frozenset[str] = REGISTERED) -> Command | None:
    """``::name key=value,key=value::data`` at the start of a line, or ``##[name key=value;]data`` anywhere in it."""
    line = UNSEEN.sub("", line)
    trimmed = line.lstrip()
    end = trimmed.find("::", 2)
    if trimmed.startswith("::") and end >= 0:
        name, _, rest = trimmed[2:end].partition(" ")
        if name.lower() in registered:
            return Command(name.lower(), _unescape(trimmed[end + 2 :], DATA), _properties(rest, ",", PROPERTY))
    start = line.find("##[")
    end = line.find("]", start)
    if start < 0 or end < 0:
        return None
    name, _, rest = line[start + 3 : end].partition(" ")
    if name.lower() not in registered:
        return None
    return Command(name.lower(), _unescape(line[end + 1 :], OLD), _properties(rest, ";", OLD))


def _properties(text: str, separator: str, escapes: Escapes) -> dict[str, str]:
    pairs = (pair.lstrip("=").partition("=") for pair in text.strip().split(separator))
    return {key: _unescape(value, escapes) for key, _, value in pairs if key and value}


def _unescape(text: str, escapes: Escapes) -> str:
    for escaped, plain in escapes:
        text = text.replace(escaped, plain)
    return text


def read_outputs(text: str) -> dict[str, str]:
    """The key-value file behind ``$GITHUB_OUTPUT``. Raises FailedStep where the runner fails the step."""
    values: dict[str, str] = {}
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    rest = iter(lines)
    for line in rest:
        if not line:
            continue
        equals, heredoc = line.find("="), line.find("<<")
        if equals >= 0 and (heredoc < 0 or equals < heredoc):
            name, _, value = line.partition("=")
        elif heredoc >= 0:
            name, _, delimiter = line.partition("<<")
            value = _heredoc(rest, delimiter)
        else:
            raise FailedStep(f"invalid format {line!r}")
        if not name:
            raise FailedStep(f"no name in {line!r}")
        values[name] = value
    return values


def _heredoc(lines: Iterator[str], delimiter: str) -> str:
    if not delimiter:
        raise FailedStep("empty delimiter")
    held: list[str] = []
    for line in lines:
        if line == delimiter:
            return "\n".join(held)
        held.append(line)
    raise FailedStep(f"matching delimiter not found {delimiter!r}")


def read_summary(path: Path) -> str:
    """What the job's page shows: nothing at all when the file is too large."""
    return path.read_text("utf-8") if path.stat().st_size <= SUMMARY_LIMIT else ""
