"""The contract of an evaluator, which is the code of an assertion type: options in, a verdict out.

A plug-in derives from ``Evaluator``, or from one of the two bases that are closer to most plug-ins: ``TextEvaluator`` looks
only at the text of an answer, and ``ModelEvaluator`` asks a model. ``assertion`` registers it. ``grading/conclusion.py``
applies thresholds, ``not-`` and weights to its verdict. The other names that a plug-in needs are imported from here, too.
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
    "EVALUATORS",
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
T = TypeVar("T")
E = TypeVar("E", bound="Evaluator")
BY_ANSWER = "brought by the answer"  # stands for a variable that an answer may bring
MAY_BE_EMPTY = "may be empty"
# The ``value`` of an evaluator to which an empty value means something.
AnyValue = Annotated[Any, MAY_BE_EMPTY]


@dataclass_transform(frozen_default=True, kw_only_default=True)
def options(evaluator: type[T]) -> type[T]:
    """Make an evaluator a frozen dataclass. Pydantic checks its fields, which are its options."""
    # Sixty evaluators are registered and a run uses a few, so a check is built on its first use.
    config = pydantic.ConfigDict(defer_build=True)
    as_dataclass = pydantic.dataclasses.dataclass(
        frozen=True, slots=True, kw_only=True, config=config
    )
    return as_dataclass(evaluator)  # type: ignore[return-value]  # the same class


@dataclass_transform(frozen_default=True, kw_only_default=True)
def assertion(*names: str) -> Callable[[type[E]], type[E]]:
    """Decorator: ``options``, and the evaluator of the assertions of these types.

    Raises ValueError if another evaluator has one of the types.
    """

    def register(evaluator: type[E]) -> type[E]:
        with_options = options(evaluator)
        EVALUATORS.register(*names)(with_options)
        return with_options

    return register


class Scoring(FrozenStruct):
    """What the score of an evaluator means, and from where it passes.

    Without a threshold, a score that is no share passes above 0.
    """

    default: float | None = None  # the threshold if the assertion sets none
    # The evaluator has the threshold as an option, compares it itself, and says in its verdict whether the answer passes.
    decides: bool = False
    at_most: bool = False  # the threshold is a limit from above, so a lower threshold is stricter
    # The score is from 0 to 1. Then a threshold outside is a mistake, and a threshold of 0 can never fail.
    share: bool = True
    scale: int = 1  # people see the score times this; above 1, cut to two decimals
    tolerance: float = 0.0  # of a measured score, such as a cosine


class Each(str):
    """The name of a question that is asked for each exchange of a conversation."""

    __slots__ = ()


class Requirements(FrozenStruct):
    """What an evaluator needs to grade an answer."""

    # Kinds of models: "text", "embedding", "classification", "moderation", or "similarity", which is an embedding model or
    # a model that only compares two texts
    models: tuple[str, ...] = ()
    # Names of the questions to the text model, if there are several, in the order of ``rubricPrompt``
    questions: tuple[str, ...] = ()
    # The evaluator looks at what the answer did, such as its tool calls. So an answer without a text is no error.
    tools: bool = False
    images: bool = False  # the evaluator shows its model the images of a conversation


class Evaluator:
    """Base of all evaluators. A subclass has the decorator ``assertion``, and its fields are the options of the type::

        @assertion("starts-with")
        class StartsWith(TextEvaluator):
            value: str

            def check(self, output: str) -> Verdict:
                return pass_or_fail(output.startswith(self.value), "...")

    Fields are filled from the assertion by name: ``value`` (templates already filled in), ``threshold``, the keys of
    ``config``, and the keys of the test's ``options``. Pydantic checks the fields, so a wrong option is a mistake at the
    line of the assertion, before any call. An evaluator that runs code of a config has the fields ``config`` and ``test``,
    and gets all of both. ``gradegate list`` shows the first line of the docstring of the subclass.

    A subclass overrides ``grade``, or ``compare`` if it sets ``compares``. All else has a default that fits most types.
    """

    requires: ClassVar[Requirements] = Requirements()
    scoring: ClassVar[Scoring] = Scoring()
    # Set if ``compare`` grades all answers to a case together: by their outputs, or by the scores that they have so far.
    compares: ClassVar[Literal["outputs", "scores"] | None] = None
    # ``value`` is code of the repository, which runs only with --allow-exec.
    runs_code: ClassVar[bool] = False

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        """Grade one answer. Raises NoVerdict or ProviderError, which become an ERROR.

        The score is 1 or 0, or mostly from 0 to 1.
        """
        raise NotImplementedError

    def compare(
        self,
        transcripts: Sequence[Transcript],
        grades: Sequence[Sequence[Grade]],
        judge: Judge,
    ) -> Sequence[Verdict]:
        """Grade all answers to one case, in config order: one verdict for each.

        ``grades`` are those that each answer has so far. Raises NoVerdict or ProviderError.
        """
        raise NotImplementedError

    def count_questions(self, exchanges: int) -> int:
        """Count the questions to the text model for one answer of so many exchanges, as far as known before the run."""
        questions = self.requires.questions
        if not questions:
            return 1
        return sum(exchanges if isinstance(question, Each) else 1 for question in questions)

    @classmethod
    def needs_value(cls) -> bool:
        """Whether an assertion of this type must have a ``value``."""
        value = cls.__pydantic_fields__.get("value")  # type: ignore[attr-defined]  # of pydantic's dataclasses
        return value is not None and value.is_required()

    @classmethod
    def skips_prompt(cls, written: Any) -> bool:
        """Whether the ``rubricPrompt`` of a test is meant only for its other assertions."""
        return not written

    # Planning calls these four before any call to a model. Each returns a sentence, or an empty text if all is well.

    def missing_variables(self, variables: Variables) -> str:
        """Say which variables of the test are missing. A variable that an answer may bring has the value ``BY_ANSWER``."""
        return ""

    def missing_in_turns(self, turns: Sequence[Turn], variables: Variables) -> str:
        """Say what the conversation of the config lacks. ``turns`` is empty for a single answer."""
        return ""

    def ignored_in_turns(self, turns: Sequence[Turn]) -> str:
        """Say what the evaluator ignores in the conversation of the config, although somebody wrote it for this evaluator."""
        return ""

    def why_always_fails(self) -> str:
        """Say why every answer fails, and what to write instead."""
        return ""


class TextEvaluator(Evaluator):
    """Base of the evaluators that look only at the text of an answer."""

    def check(self, output: str) -> Verdict:
        """Grade a text. Raises NoVerdict."""
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
    """The verdict of an evaluator that decides by itself, with the score 1 or 0."""
    return Verdict(float(passed), passed, reason, evidence)


def verdicts_for_best(
    count: int, best: int, reason: str, evidence: JsonObject
) -> Sequence[Verdict]:
    """One verdict for each of ``count`` outputs: output ``best`` passes, the others fail. -1 if no output is the best."""
    return [
        pass_or_fail(number == best, reason, **evidence, **{"this output": number})
        for number in range(count)
    ]


EVALUATORS: Registry[type[Evaluator]] = Registry("assertion", "gradegate.assertions")
_TWO_PART_TYPE = re.compile(r"(?:not-)?([a-z][a-z0-9-]*:[a-z0-9-]+)(?=[(:]|$)")


def two_part_type(text: str) -> str:
    """The type with a colon that a text such as ``trajectory:tool-used:search`` begins with. Empty for any other text."""
    match = _TWO_PART_TYPE.match(text)
    return match[0] if match and EVALUATORS.find(match[1]) else ""
