"""The contract of a grader: options in, a verdict out; thresholds, ``not-`` and weights are somebody else's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeVar, dataclass_transform

import pydantic.dataclasses

from gradegate.conversation import Transcript
from gradegate.grading.judge import Judge
from gradegate.registry import Registry
from gradegate.result import Grade, Verdict

T = TypeVar("T")


# Sixty graders are registered, a run uses a few: checks are built for those that are used.
_LATE = pydantic.ConfigDict(defer_build=True)


@dataclass_transform(frozen_default=True)
def options(kind: type[T]) -> type[T]:
    """Make a grader a frozen dataclass whose fields pydantic checks."""
    return pydantic.dataclasses.dataclass(frozen=True, slots=True, config=_LATE)(kind)  # type: ignore[return-value]  # the same class


class Grader:
    """Base of all graders. A grader is decorated with ``options``; its fields are its options.

    Fields are filled from the assertion by name: ``value`` (templates already filled in), ``threshold``, the keys of
    ``config``, and what the test's ``options`` hold under the field's name. Pydantic checks them, so a wrong option is
    a mistake at the assertion's line before any call. The first line of the class docstring is shown by ``list``.
    """

    threshold_default: ClassVar[float | None] = None  # passes at score >= this, when the assertion sets none
    above_zero: ClassVar[bool] = False  # without a threshold, passes at score > 0
    owns_threshold: ClassVar[bool] = False  # the threshold is an option of the grader itself, compared by it
    models: ClassVar[tuple[str, ...]] = ()  # the kinds of grader it asks: "text", "embedding", ...
    scale: ClassVar[int] = 1  # people see the score times this; above 1, cut to two decimals
    share: ClassVar[bool] = False  # the score is a share from 0 to 1: a threshold of 0 can never fail
    value_or_prompt: ClassVar[bool] = False  # judges nothing without a value, unless rubricPrompt says what to judge
    steps: ClassVar[tuple[str, ...]] = ()  # the prompts of a grader that asks several, in the order of rubricPrompt
    sees: ClassVar[bool] = False  # shows its model the images of the conversation, so that model must take images
    lifted: ClassVar[bool] = False  # `threshold`, `model` and `strict_mode` may stand in `config`, as DeepEval has them
    skips_shared_prompt: ClassVar[bool] = False  # a test's one-prompt ``rubricPrompt`` is meant for its other graders
    compares: ClassVar[bool] = False  # grades all answers to one case together, through ``compare``
    compares_scores: ClassVar[bool] = False  # ... by the grades that they have so far, so there must be others

    def needs(self, variables: Mapping[str, Any]) -> str:
        """What the test's variables lack for this grader, as a sentence; empty when nothing. Called before any call."""
        return ""

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        """One answer. Raises NoVerdict or ProviderError, which become an ERROR."""
        raise NotImplementedError

    def compare(
        self, transcripts: Sequence[Transcript], grades: Sequence[Sequence[Grade]], judge: Judge
    ) -> Sequence[Verdict]:
        """All answers to one case in config order, with the grades that they have so far: one verdict for each."""
        raise NotImplementedError


GRADERS: Registry[type[Grader]] = Registry("assertion", "gradegate.graders")
