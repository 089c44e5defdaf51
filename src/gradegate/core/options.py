"""What an option of a run is: its names, its help, and how the text of a user becomes its value."""

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from typing import Any, TypeVar

from gradegate.structs import FrozenStruct, replace

T = TypeVar("T")
# The commands that plan configs, that run a plan, and that ask models
PLANNING = ("run", "merge", "validate", "cases")
RUNNING = ("run", "merge")
ASKING = (*RUNNING, "calibrate")
MOST_SHARDS = 256  # as many as a matrix of GitHub has jobs
MOST_RUNS = 20  # of a case
# How messages name an option: `<--grader ID>`, or in a command of its own: `gradegate run --answers FILE`.
_NAMED = re.compile(r"<--([a-z-]+)(?: ([^<>]*))?>|`gradegate run --([a-z-]+)(?: ([^`]*))?`")


def parse_whole_number(text: str, least: int) -> int | None:
    """Read a whole number as people write it. None for any other text, and below ``least``."""
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        return None
    number = int(text)
    return number if number >= least else None


def parse_amount(text: str) -> float | None:
    """Read a number above 0 as people write it, such as 2 or 0.5. None for any other text."""
    plain = re.fullmatch(r"\d{1,12}(\.\d{1,12})?|\.\d{1,12}", text, re.ASCII)
    return float(text) or None if plain else None


def parse_part(text: str, most: int) -> tuple[int, int] | None:
    """Read ``3/8`` as 3 of 8, of at most so many. None for any other text."""
    match = re.fullmatch(r"(\d{1,3})/(\d{1,3})", text, re.ASCII)
    if not match:
        return None
    number = int(match[1])
    of = int(match[2])
    return (number, of) if 1 <= number <= of <= most else None


def parse_pair(text: str) -> tuple[str, str] | None:
    """Read ``NAME=VALUE``. None for any other text."""
    key, sign, value = text.partition("=")
    return (key, value) if key and sign else None


def resolve_option_names(text: str, inputs: bool) -> str:
    """Write the options in a message as flags of the command line, or as ``inputs`` of the Action."""

    def name_option(match: re.Match[str]) -> str:
        if not inputs:
            return match[0].strip("<>")
        option = match[1] or match[3]
        value = match[2] or match[4]
        return f"the input `{option}: {value}`" if value else f"the input `{option}`"

    return _NAMED.sub(name_option, text) if "--" in text else text


class OptionKind(FrozenStruct):
    """How texts become the value of an option, and the value becomes texts again."""

    read: Callable[[str], Any] = str  # gives None for a text that it cannot read
    needs: str = ""  # what such a text has to be instead
    # Makes one value of what was read from each text of an option that may be repeated. Raises ConfigError.
    gather: Callable[[list[Any]], Any] | None = None
    write: Callable[[Any], Iterable[str]] = lambda value: [str(value)]
    choices: tuple[str, ...] = ()  # the words that it takes; empty for any text
    about: str = ""  # a sentence for the documentation of the Action


def write_pairs(value: Any) -> list[str]:
    """Write each pair, or each entry of a mapping, as ``NAME=VALUE``."""
    pairs = value.items() if isinstance(value, Mapping) else value
    return [f"{key}={text}" for key, text in pairs]


def choice(*choices: str) -> OptionKind:
    """One of several words."""
    return OptionKind(
        lambda text: text if text in choices else None,
        f"one of {', '.join(choices)}",
        choices=choices,
    )


def whole(least: int) -> OptionKind:
    """A whole number."""
    return OptionKind(lambda text: parse_whole_number(text, least), f"a whole number from {least}")


TEXT = OptionKind()
LINES = OptionKind(gather=tuple, write=tuple)
PATH = OptionKind(about="Relative to `working-directory`.")
PATHS = OptionKind(gather=tuple, write=tuple, about=PATH.about)
FROM_WORKSPACE = OptionKind(about="Relative to the workspace.")
PAIRS = OptionKind(parse_pair, "NAME=VALUE", gather=tuple, write=write_pairs)
MAPPING = OptionKind(parse_pair, "NAME=VALUE", gather=dict, write=write_pairs)
SHARD = OptionKind(
    partial(parse_part, most=MOST_SHARDS),
    f"the number of a part and how many there are, such as 3/8, at most {MOST_SHARDS}",
)
SWITCH = OptionKind({"true": True, "false": False}.get, "one of true, false")


@cache
def _name(names: str) -> str:
    """The first long flag without its dashes, else the first word."""
    words = names.split()
    return next((word[2:] for word in words if word.startswith("--")), words[0])


class Option(FrozenStruct):
    """One option: an input of the Action, and a flag of some commands."""

    names: str  # flags, then a placeholder for the value: `-j --max-concurrency N`; without a flag: `merge DIR`
    kind: OptionKind
    help: str  # a clause, for the command line and the Action; other options stand in backticks
    more: str = ""  # sentences for the Action only
    otherwise: str = ""  # what happens without the option, if its default does not say so
    commands: tuple[str, ...] = ()  # that have it as a flag
    no_input: str = ""  # why the Action does not have it; empty if it has
    no_flag: str = ""  # why the command line does not have it; empty if it has
    in_rerun: bool = False  # whether the command that asks a case again has it
    harmless: bool = False  # grants no right, names no model and opens no file, whatever its value
    written: str | None = None  # the default of the input, if it is not that of the field
    field: str = ""  # its name in the settings
    default: Any = ""

    @property
    def flags(self) -> tuple[str, ...]:
        """What the command line calls it."""
        return tuple(word for word in self.names.split() if word.startswith("-"))

    @property
    def metavar(self) -> str:
        """The placeholder for its value in the help. Empty if it takes none."""
        return " ".join(word for word in self.names.split()[1:] if not word.startswith("-"))

    @property
    def name(self) -> str:
        """The name without dashes, which is that of the input."""
        return _name(self.names)

    @property
    def shown_default(self) -> str:
        """The default as a user would write it. Empty if there is none."""
        text = str(self.default) if isinstance(self.default, int | str) else ""
        return text.lower() if isinstance(self.default, bool) else text

    def arguments(self, value: Any) -> list[str]:
        """The arguments of a command that set the value. None for the default."""
        if value == self.default:
            return []
        flag = f"--{self.name}"
        if value is True:
            return [flag]
        arguments = []
        for text in self.kind.write(value):
            arguments += [flag, text]
        return arguments


def option(default: T, names: str, kind: OptionKind, **more: Any) -> T:
    """Declare a field of a settings dataclass as an option. ``more`` are further fields of ``Option``.

    The declared type is that of the default, so that mypy accepts the field.
    """
    more.setdefault("commands", () if "no_flag" in more else RUNNING)
    entry = Option(names, kind, default=default, **more)
    return dataclasses.field(
        default_factory=lambda: default, metadata={"option": entry}, repr="token" not in names
    )


def options_of(settings: Any) -> tuple[Option, ...]:
    """The options among the fields of a dataclass, in their order."""
    return tuple(
        replace(field.metadata["option"], field=field.name)
        for field in dataclasses.fields(settings)
        if "option" in field.metadata
    )
