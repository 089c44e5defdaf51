"""How much time and memory a config may take, and why so much: the numbers of docs/gate.md. ``READ`` counts what a run has read.

All processes together stay below 500 MB: the worker has 192 MiB, and the sizes below keep the gate itself within the rest.
"""

from collections.abc import Iterator
from contextlib import contextmanager

MIB = 1024 * 1024

# --- evaluations: templates, schemas and patterns, in a worker process ---
# Together, n evaluations of a run may take RUN_CPU_SECONDS + n * CPU_SECONDS_PER_EVAL.
EVAL_CPU_SECONDS = 2.0  # for one evaluation; a template of a real config takes a millisecond
# Seconds until an evaluation answers. This also ends one that uses no CPU, and leaves time on a busy runner.
EVAL_WALL_SECONDS = 20.0
RUN_CPU_SECONDS = 6.0
CPU_SECONDS_PER_EVAL = 0.001  # so that a run of 100,000 tests may take longer than one of a few
WORKER_START_SECONDS = 20.0  # until the worker has started, which takes a tenth of a second
# Bytes of the worker's address space; Python with its imports takes 30 MiB
WORKER_MEMORY = 192 * MIB
MAX_WORKER_MESSAGE = 16 * MIB  # bytes of one request to the worker, and of its response
MAX_TEXT_CHARACTERS = 8 * MIB  # characters of one text after its template is filled in
MAX_TEMPLATE_CHARACTERS = 4 * MIB  # characters of one template
# Tokens of a template that this process, which has the keys, parses itself. A longer template goes to the worker.
MAX_TOKENS_OUTSIDE_WORKER = 5_000
MAX_PATTERN = 20_000  # characters of a regular expression

# --- scripts: calls of JavaScript of a config ---
# Together, n calls of a run may take RUN_SCRIPT_CPU_SECONDS + n * CPU_SECONDS_PER_SCRIPT_CALL.
MAX_SCRIPT = 256 * 1024  # characters of a JavaScript snippet or file
SCRIPT_CPU_SECONDS = 0.5  # for one call; JSON.parse of 100 KB takes 2 ms
RUN_SCRIPT_CPU_SECONDS = 30.0
CPU_SECONDS_PER_SCRIPT_CALL = 0.005  # a call takes 0.4 ms, and with 200 KB of JSON 5 ms
SCRIPT_RUNAWAYS = 3  # a script with so many calls that exceed a limit is not run again
SCRIPT_MEMORY = 64 * MIB  # bytes of one call
SCRIPT_STACK = 512 * 1024  # bytes of the stack of one call; enough for 2,000 nested calls

# --- files that are read ---
MAX_FILE = 64 * MIB  # bytes of one file
MAX_FILES = 128 * MIB  # bytes of all files of a run
# Keys and values of all files, weighted by the memory that they take: a list counts twice, a mapping three times.
MAX_VALUES = 4_000_000
# Values that the aliases of a YAML file may repeat. A text counts as one value for every 128 characters.
MAX_ALIASED = 1_000_000
# Bytes of the results of the base; 100,000 cases with short answers have a third of that.
MAX_BASELINE = 512 * MIB
MAX_HISTORY = 128 * MIB  # bytes of the history; 18,000 grades with 60 runs each
MAX_LINES = 1_000_000  # lines of a file of JSON lines
MAX_ENTRIES = 200_000  # entries of folders that one pattern of files looks at
MAX_MATCHES = 10_000  # files that match one pattern
# Mistakes in the keys of one mapping; to suggest another name takes a millisecond
MAX_MISTAKES = 200

# --- what a run plans ---
MAX_COMBINATIONS = 10_000  # combinations of the lists in the variables of one test
MAX_ANSWERS = 100_000  # answers of a run: tests by prompts, providers and repetitions
MAX_GRADES = 400_000  # grades of a run: answers by assertions
# Characters of the prompts and variables of all answers, as reports will show them.
MAX_PLANNED_CHARACTERS = 256 * MIB
MAX_RULES = 100  # rules of a gate; each looks at every grade
MAX_DERIVED_METRICS = 100  # of a config; each is calculated for every prompt and target
MAX_DERIVED_VALUES = 10_000  # values of all derived metrics of a config; one takes 0.5 ms

# --- what models answer ---
MAX_BODY = 4 * MIB  # bytes of one response; the longest answers of models have a tenth
# Values in the JSON of one response, by its commas; 64 embeddings have as many
MAX_BODY_VALUES = 200_000
MAX_ANSWER_CHARACTERS = 128 * MIB  # characters of all answers of a run, which reports keep


class TooMuch(ValueError):
    """The files or answers of a run exceed a limit; the message says which."""


class Amounts:
    """Counts what a run has read, so that many small files or answers cannot pass a limit together."""

    def __init__(self) -> None:
        self.start_anew()

    def start_anew(self) -> None:
        """Begin a new run: what other runs of this process read does not count."""
        self.file_bytes = 0
        self.values = 0
        self.answer_characters = 0

    def add_bytes(self, number: int) -> None:
        """Count bytes of a file. Raises TooMuch."""
        self.file_bytes += number
        if self.file_bytes > MAX_FILES:
            raise TooMuch(f"the files of this run have more than {MAX_FILES // MIB} MiB together")

    def add_answer(self, characters: int) -> None:
        """Count the characters of an answer. Raises TooMuch."""
        self.answer_characters += characters
        if self.answer_characters > MAX_ANSWER_CHARACTERS:
            raise TooMuch(
                f"the answers of this run have more than {MAX_ANSWER_CHARACTERS // MIB} Mi characters together"
            )

    def add_values(self, number: int) -> None:
        """Count keys and values of a file, as ``MAX_VALUES`` weights them. Raises TooMuch."""
        self.values += number
        if self.values > MAX_VALUES:
            raise TooMuch(f"the files of this run hold more than {MAX_VALUES:,} values together")

    @contextmanager
    def not_counted(self) -> Iterator[None]:
        """Set the count of values aside while gradegate reads a file of its own package.

        The limit is about the user's files. Bytes and answers still count: reading such a file adds none.
        """
        values = self.values
        self.values = 0
        try:
            yield
        finally:
            self.values = values


READ = Amounts()  # of the current run
