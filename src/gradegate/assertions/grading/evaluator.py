"""The contract of an evaluator, the code of an assertion type: options in, a verdict out.

Thresholds, ``not-`` and weights are applied elsewhere. What every evaluator names is imported from here.
"""

import re
from collections.abc import Callable, Sequence
from typing import Annotated, Any, ClassVar, Literal, TypeVar, dataclass_transform

import pydantic.dataclasses

from gradegate.assertions.judge.judge import Judge
from gradegate.core.conversation import Transcript, Turn, Variables
from gradegate.errors import NoVerdict, Unreadable
from gradegate.registry import Registry
from gradegate.results.grades import Grade, Verdict
from gradegate.structs import FrozenStruct, JsonObject

__all__ = [
    "GRADERS",
    "AnyValue",
    "Each",
    "Evaluator",
    "Grade",
    "Judge",
    "ModelEvaluator",
    "NoVerdict",
    "Requirements",
    "Scoring",
    "TextEvaluator",
    "Transcript",
    "Unreadable",
    "Verdict",
]
BY_ANSWER = "brought by the answer"
MAY_BE_EMPTY = "may be empty"
AnyValue = Annotated[
    Any, MAY_BE_EMPTY
]  # of an evaluator to which an empty ``value`` means something
T = TypeVar("T")
G = TypeVar("G", bound="Evaluator")


@dataclass_transform(frozen_default=True, kw_only_default=True)
def options(kind: type[T]) -> type[T]:
    """Make an evaluator a frozen dataclass whose fields pydantic checks."""
    # Sixty evaluators are registered, a run uses a few: checks are built for those that are used.
    late = pydantic.ConfigDict(defer_build=True)
    return pydantic.dataclasses.dataclass(frozen=True, slots=True, kw_only=True, config=late)(kind)  # type: ignore[return-value]  # the same class


@dataclass_transform(frozen_default=True, kw_only_default=True)
def assertion(*names: str) -> Callable[[type[G]], type[G]]:
    """Decorator: ``options``, and the evaluator of the assertions of these types. Raises ValueError for a type that has one."""

    def enter(kind: type[G]) -> type[G]:
        made = options(kind)
        GRADERS.register(*names)(made)
        return made

    return enter


class Scoring(FrozenStruct):
    """What the score of an evaluator means, and from where it passes.

    ``default`` is the threshold when the assertion sets none. With ``decides`` the threshold is an option of the evaluator,
    which compares it itself. ``at_most``: the threshold is a limit from above, so less is stricter. ``share``: the score is
    from 0 to 1, so another threshold is a mistake, and one of 0 can never fail. Any other score passes above 0 where
    there is no threshold.
    """

    default: float | None = None
    decides: bool = False
    at_most: bool = False
    share: bool = True
    scale: int = 1  # people see the score times this; above 1, cut to two decimals
    tolerance: float = 0.0  # of a measured score, such as a cosine


class Each(str):
    """The name of a question that is asked for each exchange of a conversation."""

    __slots__ = ()


class Requirements(FrozenStruct):
    """What an evaluator needs to grade an answer.

    ``models`` are kinds: "text", "embedding", "similarity" (an embedding model, or one that only compares two texts),
    "classification", "moderation". ``questions`` are the names of what the text model is asked, where that is several
    questions, in the order of ``rubricPrompt``. ``tools``: it judges what the answer did, such as its calls of tools, so an
    answer without a text is no error. ``images``: it shows its model the images of a conversation.
    """

    models: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    tools: bool = False
    images: bool = False


class Evaluator:
    """Base of all evaluators. An evaluator is decorated with ``options``; its fields are its options.

    Fields are filled from the assertion by name: ``value`` (templates already filled in), ``threshold``, the keys of
    ``config``, and what the test's ``options`` hold under the field's name. Pydantic checks them, so a wrong option is
    a mistake at the assertion's line before any call. Code of a config has the fields ``config`` and ``test`` and is given
    all of both. The first line of the class docstring is shown by ``list``.
    """

    requires: ClassVar[Requirements] = Requirements()
    scoring: ClassVar[Scoring] = Scoring()
    # Grades all answers to one case together, through ``compare``: their outputs, or the scores that they have so far.
    compares: ClassVar[Literal["", "outputs", "scores"]] = ""
    runs_code: ClassVar[bool] = (
        False  # its value is code of the repository, which runs only with --allow-exec
    )

    def count_questions(self, exchanges: int) -> int:
        """How many the text model is asked for one answer of so many exchanges, as far as that is known before."""
        questions = self.requires.questions
        return sum(exchanges if isinstance(it, Each) else 1 for it in questions) if questions else 1

    @classmethod
    def needs_value(cls) -> bool:
        """Whether an assertion of this type must have a ``value``."""
        value = cls.__pydantic_fields__.get("value")  # type: ignore[attr-defined]  # of pydantic's dataclasses
        return value is not None and value.is_required()

    @classmethod
    def skips_prompt(cls, written: Any) -> bool:
        """Whether the ``rubricPrompt`` of a test is meant only for its other assertions."""
        return not written

    def needs(self, variables: Variables) -> str:
        """What the test's variables lack for this evaluator, as a sentence; empty when nothing. Called before any call.

        A variable that an answer may bring has the value ``BY_ANSWER``.
        """
        return ""

    def needs_turns(self, turns: Sequence[Turn], variables: Variables) -> str:
        """What the config's conversation lacks for this evaluator, as ``needs``; ``turns`` is empty for a single answer."""
        return ""

    def ignores(self, turns: Sequence[Turn]) -> str:
        """What of the config's conversation it does not look at, although somebody wrote it for that; empty for nothing."""
        return ""

    def never(self) -> str:
        """Why no answer can pass it, and what to write; empty for an evaluator that some may pass."""
        return ""

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        """One answer: its score, mostly from 0 to 1, or 1 or 0. Raises NoVerdict or ProviderError, which become an ERROR."""
        raise NotImplementedError

    def compare(
        self, transcripts: Sequence[Transcript], grades: Sequence[Sequence[Grade]], judge: Judge
    ) -> Sequence[Verdict]:
        """All answers to one case in config order, with the grades that they have so far: one verdict for each."""
        raise NotImplementedError


class TextEvaluator(Evaluator):
    """Base of the evaluators that look at nothing but the text of an answer."""

    def check(self, output: str) -> Verdict:
        """The verdict on a text. Raises NoVerdict."""
        raise NotImplementedError

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        """Check the last answer."""
        return self.check(transcript.output)


@options
class ModelEvaluator(Evaluator):
    """Base of the evaluators that ask a text model."""

    requires = Requirements(("text",))

    language: str = ""


def pass_or_fail(passed: bool, reason: str, **evidence: Any) -> Verdict:
    """The verdict of an evaluator that decides by itself, without a score between 0 and 1."""
    return Verdict(float(passed), passed, reason, evidence)


def verdicts_on(count: int, best: int, reason: str, evidence: JsonObject) -> Sequence[Verdict]:
    """One for each of so many outputs: the ``best`` passes, the others fail; -1 for none."""
    return [
        pass_or_fail(number == best, reason, **evidence, **{"this output": number})
        for number in range(count)
    ]


GRADERS: Registry[type[Evaluator]] = Registry("assertion", "gradegate.assertions")
_TWO = re.compile(r"(?:not-)?([a-z][a-z0-9-]*:[a-z0-9-]+)(?=[(:]|$)")


def of_two(text: str) -> str:
    """The type of two names that a text such as ``trajectory:tool-used:search`` begins with; empty for any other text."""
    found = _TWO.match(text)
    return found[0] if found and GRADERS.find(found[1]) else ""
