"""How much time and memory a config may take, and why so much: the numbers of docs/limits.md; and what a run has read of it.

All processes together stay below 500 MB: 192 of the worker's, and what the sizes below leave the gate itself.
"""

from collections.abc import Iterator
from contextlib import contextmanager

MIB = 1024 * 1024

# --- what is evaluated: templates, schemas, patterns ---
SECONDS = 2.0  # of CPU for one; a template of a real config takes a millisecond
WALL = 20.0  # seconds until an answer: what uses no CPU ends too, and a busy runner is waited for
TOTAL_SECONDS = 6.0  # of CPU for all of a run together, and beside that
EACH_SECONDS = 0.001  # for each: 100,000 tests take longer than one
START_SECONDS = 20.0  # until the worker has started, which takes a tenth of a second
MEMORY = 192 * MIB  # of the worker's address space; Python with what it imports takes 30
MAX_SENT = 16 * MIB  # bytes to and from the worker at once
MAX_CHARACTERS = 8 * MIB  # of one text that is filled in
MAX_SOURCE = 4 * MIB  # characters of one template
MAX_TOKENS = (
    5_000  # of a template that is filled in beside the keys; a longer one goes to the worker
)
MAX_PATTERN = 20_000  # characters of a regular expression
MAX_SCRIPT = 256 * 1024  # characters of a JavaScript snippet or file
SCRIPT_SECONDS = 0.5  # of CPU for one call; JSON.parse of 100 KB takes 2 ms
SCRIPT_EACH = 0.005  # of CPU for each call: one takes 0.4 ms, with 200 KB of JSON 5
SCRIPT_TOTAL = 30.0  # of CPU for all calls of a run together, beside that
SCRIPT_RUNAWAYS = 3  # calls of one script that exceed a limit, after which it is not run again
SCRIPT_MEMORY = 64 * MIB  # of one call
SCRIPT_STACK = 512 * 1024  # bytes; 2,000 calls deep

# --- what is read and planned ---
MAX_FILE = 64 * MIB  # bytes of one file
MAX_FILES = 128 * MIB  # bytes of all files of a run
MAX_VALUES = 4_000_000  # keys and values of all files, a list counted twice, a mapping thrice: as they take memory
MAX_ALIASED = 1_000_000  # values that the aliases of a file may repeat; a text is one for every 128 characters
# Bytes of the results of the base; 100,000 cases with short answers have a third of that.
MAX_BASELINE = 512 * MIB
MAX_HISTORY = 128 * MIB  # bytes of the history; 18,000 grades with 60 runs each
MAX_LINES = 1_000_000  # of a file of JSON lines
MAX_ENTRIES = 200_000  # of folders that a pattern of files looks at
MAX_MATCHES = 10_000  # files of one pattern
MAX_COMBINATIONS = 10_000  # of the lists in the variables of one test
MAX_ANSWERS = 100_000  # of a run: tests by prompts, providers and repetitions
MAX_GRADES = 400_000  # of a run: answers by assertions
# Characters of the prompts and variables of all answers, as reports will show them.
MAX_PLANNED = 256 * MIB
MAX_MISTAKES = 200  # of the keys of one mapping; to suggest another name takes a millisecond
MAX_BODY = 4 * MIB  # bytes of one response; that of a model that says all it can has a tenth
MAX_BODY_VALUES = 200_000  # of its JSON, by its commas; 64 embeddings have that many
MAX_SAID = 128 * MIB  # characters of all answers of a run, which reports keep
MAX_RULES = 100  # of a gate; each looks at every grade
MAX_DERIVED = 100  # derived metrics of a config; each is worked out for every prompt and target
MAX_DERIVED_VALUES = 10_000  # of a config; one takes 0.5 ms


class TooMuch(ValueError):
    """The files or answers of the run hold too much; the message says of what."""


class Amounts:
    """What the files and answers of a run hold together, so that many small ones cannot pass the limit for one."""

    def __init__(self) -> None:
        self.start_anew()

    def start_anew(self) -> None:
        """A new run: what others read is not its own."""
        self.size = self.values = self.said = 0

    def add_bytes(self, number: int) -> None:
        """Raises TooMuch."""
        self.size += number
        if self.size > MAX_FILES:
            raise TooMuch(f"the files of this run have more than {MAX_FILES // MIB} MiB together")

    def add_answer(self, characters: int) -> None:
        """Raises TooMuch."""
        self.said += characters
        if self.said > MAX_SAID:
            raise TooMuch(
                f"the answers of this run have more than {MAX_SAID // MIB} Mi characters together"
            )

    def add_values(self, number: int) -> None:
        """Raises TooMuch."""
        self.values += number
        if self.values > MAX_VALUES:
            raise TooMuch(f"the files of this run hold more than {MAX_VALUES:,} values together")

    @contextmanager
    def not_counted(self) -> Iterator[None]:
        """For files of our own: a limit speaks of what the user's files hold."""
        values, self.values = self.values, 0
        try:
            yield
        finally:
            self.values = values


READ = Amounts()
