"""Adds up the sizes of a run's files and answers, so that many small files cannot pass the limit for one."""

from __future__ import annotations

from dataclasses import dataclass

from gradegate.files.bounds import MAX_FILES, MAX_SAID, MAX_VALUES, MIB


class TooMuch(ValueError):
    """The files or answers of the run hold too much; the message says of what."""


@dataclass
class Amounts:
    """What has been read so far."""

    size: int = 0
    values: int = 0
    said: int = 0

    def add_bytes(self, number: int) -> None:
        """Raises TooMuch."""
        self.size += number
        if self.size > MAX_FILES:
            raise TooMuch(f"the files of this run have more than {MAX_FILES // MIB} MiB together")

    def add_answer(self, characters: int) -> None:
        """Raises TooMuch."""
        self.said += characters
        if self.said > MAX_SAID:
            raise TooMuch(f"the answers of this run have more than {MAX_SAID // MIB} Mi characters together")

    @property
    def values_left(self) -> int:
        """How many more may be read."""
        return MAX_VALUES - self.values

    def add_values(self, number: int) -> None:
        """Raises TooMuch."""
        self.values += number
        if self.values > MAX_VALUES:
            raise TooMuch(f"the files of this run hold more than {MAX_VALUES:,} values together")


READ = Amounts()


def start_anew() -> None:
    """A new run: what others read is not its own."""
    READ.size = READ.values = READ.said = 0
