"""The contract of a grader: options in, a verdict out; thresholds, ``not-`` and weights are somebody else's.

What every grader names is imported from here.
"""

import dataclasses
import re
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal, TypeVar, dataclass_transform

import pydantic.dataclasses

from gradegate.assertions.judge.judge import Judge
from gradegate.core.conversation import Transcript, Turn, Variables
from gradegate.errors import NoVerdict, Unreadable
from gradegate.registry import Registry
from gradegate.results.grades import Grade, Verdict
from gradegate.structs import FrozenStruct, JsonObject

__all__ = [
    "GRADERS",
    "Asks",
    "Grade",
    "Grader",
    "Judge",
    "NoVerdict",
    "Scoring",
    "Transcript",
    "Unreadable",
    "Verdict",
    "Written",
]
T = TypeVar("T")
G = TypeVar("G", bound="Grader")


@dataclass_transform(frozen_default=True)
def options(kind: type[T]) -> type[T]:
    """Make a grader a frozen dataclass whose fields pydantic checks."""
    # Sixty graders are registered, a run uses a few: checks are built for those that are used.
    late = pydantic.ConfigDict(defer_build=True)
    return pydantic.dataclasses.dataclass(frozen=True, slots=True, config=late)(kind)  # type: ignore[return-value]  # the same class


@dataclass_transform(frozen_default=True)
def assertion(*names: str) -> Callable[[type[G]], type[G]]:
    """Decorator: ``options``, and the grader of the assertions of these types. Raises ValueError for a type that has one."""

    def enter(kind: type[G]) -> type[G]:
        made = options(kind)
        GRADERS.register(*names)(made)
        return made

    return enter


class Scoring(FrozenStruct):
    """What the score of a grader means, and from where it passes.

    ``default`` is the threshold when the assertion sets none. With ``decides`` the threshold is an option of the grader,
    which compares it itself. ``most``: the threshold is a limit from above, so less is stricter. ``share``: the score is
    from 0 to 1, so another threshold is a mistake, and one of 0 can never fail.
    """

    default: float | None = None
    above_zero: bool = False  # without a threshold, passes at score > 0
    decides: bool = False
    most: bool = False
    share: bool = True
    scale: int = 1  # people see the score times this; above 1, cut to two decimals
    tolerance: float = 0.0  # of a measured score, such as a cosine


class Asks(FrozenStruct):
    """Which models a grader asks, and how.

    ``models`` are kinds: "text", "embedding", "classification", "moderation". ``steps`` are the prompts of a grader that
    asks several questions, in the order of ``rubricPrompt``; those in ``each`` are asked for each exchange of a
    conversation. ``sees``: it shows its model the images of a conversation.
    """

    models: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    each: tuple[str, ...] = ()
    sees: bool = False
    questions: int = 1  # to the text model, where they are not steps
    tools: bool = False  # it judges calls by the functions that the target was given, unless its option `tools` names some
    # Of its texts, none may be what the answer itself says that it was given
    own_context: bool = False
    compares: bool = False  # of the model for embeddings a comparison of two texts will do
    # A test's one-prompt ``rubricPrompt`` is meant for its other graders
    skips_shared_prompt: bool = False


ASKS_TEXT = Asks(("text",))


class Written(FrozenStruct):
    """How configs write an assertion, where that is not the common way."""

    # Judges nothing without a value, unless rubricPrompt says what to judge
    value_or_prompt: bool = False
    # `threshold`, `model` and `strict_mode` may be in `config`, as DeepEval has them
    lifted: bool = False
    # In a cell of a CSV file that names none, as promptfoo has it
    csv_threshold: float | None = None
    keeps_blanks: bool = False  # the value of a CSV cell is not stripped, as promptfoo has it
    runs_code: bool = False  # its value is code of the repository, which runs only by leave
    empty_value: bool = False  # an empty value may be meant, where the config writes one
    own_config: bool = False  # `config` is for code of the repository: it is given whole, and so is what the test says of itself


WRITTEN_AS_SCORE = Written(csv_threshold=0.75)  # the threshold of most scores in promptfoo


class Grader:
    """Base of all graders. A grader is decorated with ``options``; its fields are its options.

    Fields are filled from the assertion by name: ``value`` (templates already filled in), ``threshold``, the keys of
    ``config``, and what the test's ``options`` hold under the field's name. Pydantic checks them, so a wrong option is
    a mistake at the assertion's line before any call. The first line of the class docstring is shown by ``list``.
    """

    scoring: ClassVar[Scoring] = Scoring()
    asks: ClassVar[Asks] = Asks()
    written: ClassVar[Written] = Written()
    # Whether it looks at what an answer says, so that an empty one has no verdict.
    reads_answer: ClassVar[bool] = True
    # Grades all answers to one case together, through ``compare``: their outputs, or the scores that they have so far.
    compares: ClassVar[Literal["", "outputs", "scores"]] = ""

    def questions(self, exchanges: int) -> int:
        """How many the text model is asked for one answer of so many exchanges, as far as that is known before."""
        if not self.asks.steps:
            return self.asks.questions
        return sum(exchanges if step in self.asks.each else 1 for step in self.asks.steps)

    @classmethod
    def needs_value(cls) -> bool:
        """Whether an assertion of this type must have a ``value``."""
        fields = {field.name: field for field in dataclasses.fields(cls)}  # type: ignore[arg-type]  # every grader is one
        return (
            "value" in fields
            and fields["value"].default is fields["value"].default_factory is dataclasses.MISSING
        )

    def needs(self, variables: Variables) -> str:
        """What the test's variables lack for this grader, as a sentence; empty when nothing. Called before any call."""
        return ""

    def needs_turns(self, turns: Sequence[Turn], variables: Variables) -> str:
        """What the config's conversation lacks for this grader, as ``needs``; ``turns`` is empty for a single answer."""
        return ""

    def ignores(self, turns: Sequence[Turn]) -> str:
        """What of the config's conversation it does not look at, although somebody wrote it for that; empty for nothing."""
        return ""

    def never(self) -> str:
        """Why no answer can pass it, and what to write; empty for a grader that some may pass."""
        return ""

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        """One answer: its score, mostly from 0 to 1, or 1 or 0. Raises NoVerdict or ProviderError, which become an ERROR."""
        raise NotImplementedError

    def compare(
        self, transcripts: Sequence[Transcript], grades: Sequence[Sequence[Grade]], judge: Judge
    ) -> Sequence[Verdict]:
        """All answers to one case in config order, with the grades that they have so far: one verdict for each."""
        raise NotImplementedError


def pass_or_fail(passed: bool, reason: str, **evidence: Any) -> Verdict:
    """The verdict of a grader that decides by itself, without a score between 0 and 1."""
    return Verdict(float(passed), passed, reason, evidence)


def verdicts_on(count: int, best: int, reason: str, evidence: JsonObject) -> Sequence[Verdict]:
    """One for each of so many outputs: the ``best`` passes, the others fail; -1 for none."""
    return [
        pass_or_fail(number == best, reason, **evidence, **{"this output": number})
        for number in range(count)
    ]


GRADERS: Registry[type[Grader]] = Registry("assertion", "gradegate.assertions")
_TWO = re.compile(r"(?:not-)?([a-z][a-z0-9-]*:[a-z0-9-]+)(?=[(:]|$)")


def of_two(text: str) -> str:
    """The type of two names that a text such as ``trajectory:tool-used:search`` begins with; empty for any other text."""
    found = _TWO.match(text)
    return found[0] if found and GRADERS.find(found[1]) else ""
