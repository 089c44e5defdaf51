"""The context of an answer: the variable ``context``, or the texts that ``contextTransform`` finds in the answer.

``ContextEvaluator`` is the base of the evaluators that compare something with a context.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BeforeValidator

from gradegate.assertions.grading.evaluator import (
    ModelEvaluator,
    NoVerdict,
    Scoring,
    Transcript,
    Verdict,
    options,
)
from gradegate.assertions.judge.prose import strip_invisible
from gradegate.assertions.metrics.quotations import split_units
from gradegate.core.conversation import Variables
from gradegate.core.provider_spec import Code
from gradegate.structs import FrozenStruct, JsonObject
from gradegate.templating.script import ScriptError, show_code, transform_script

# Code that reads a member of the answer: `output.documents`, `output?.[0]`
_MEMBER_OF_OUTPUT = re.compile(r"\boutput\s*(?:\?\.|\.|\[)")


@dataclass(frozen=True, slots=True)
class ContextTransform:
    """A ``contextTransform``: code that finds the retrieved texts of an answer."""

    code: Code

    def apply(self, output: Any, variables: Variables, metadata: JsonObject) -> Any:
        """Run the code. Raises NoVerdict if the code fails or returns nothing."""
        context = {"vars": variables, "metadata": metadata}
        try:
            value = transform_script(self.code).call(output, context).value
        except ScriptError as e:
            raise NoVerdict(f"contextTransform fails: {e}{self._hint(output)}") from e
        if value is None:
            raise NoVerdict(f"{self.description} is nothing{self._hint(output)}")
        return value

    @property
    def description(self) -> str:
        """The noun phrase for the returned value in messages."""
        return f"what contextTransform `{show_code(self.code)}` gives"

    def _hint(self, output: Any) -> str:
        """Advice for code that reads members of an answer that is a text. Empty for other code."""
        is_member = isinstance(self.code, str) and _MEMBER_OF_OUTPUT.search(self.code)
        if isinstance(output, str) and is_member:
            return "; the answer is a text: write `JSON.parse(output)` if it is JSON"
        return ""


def _parse_transform(value: Any) -> Any:
    """The option of a grader. Raises ValueError at the place in the config if the value is not code."""
    if not isinstance(value, str | Mapping):
        raise ValueError("is not text")
    transform_script(value)
    return ContextTransform(value)


ContextTransformOption = Annotated[ContextTransform, BeforeValidator(_parse_transform)]


class Context(FrozenStruct):
    """The retrieved texts of an answer."""

    chunks: tuple[str, ...]
    is_list: bool = False  # the texts come from a list, so each text is a unit

    @property
    def text(self) -> str:
        """All chunks with a blank line between them, as promptfoo joins them."""
        return "\n\n".join(self.chunks)

    @property
    def units(self) -> tuple[str, ...]:
        """The chunks of a list, or the lines or sentences of a text."""
        return self.chunks if self.is_list else tuple(split_units(self.text))


@options
class ContextEvaluator(ModelEvaluator):
    """Base of the evaluators that compare something with the context."""

    scoring = Scoring(0.5)

    context_transform: ContextTransformOption | None = None

    def find_context(self, transcript: Transcript) -> Context:
        """The context of one answer. Raises NoVerdict if there is none."""
        return find_context(transcript, self.context_transform)

    def missing_variables(self, variables: Variables) -> str:
        """Say that the query or the context is missing."""
        return missing_query(variables) or missing_context(variables, self.context_transform)


def verdict_from_parts(
    parts: Sequence[tuple[str, bool]],
    part: str,
    predicate: str,
    summary: str,
) -> Verdict:
    """The verdict with the share of the parts that hold as its score.

    A part is a text with whether it holds. ``summary`` has a ``{}`` for the number of parts that hold, and another for the
    number of all. The reason quotes up to five parts that do not hold. ``part`` and ``predicate`` are words of the evidence:
    with "sentence" and "attributed" it is ``{"sentences": [{"sentence": text, "attributed": whether it holds}]}``.
    """
    rows = []
    failures = []
    for text, holds in parts:
        rows.append({part: text, predicate: holds})
        if not holds:
            failures.append(text)

    total = len(parts)
    holding = total - len(failures)
    reason = "; not: ".join([summary.format(holding, total), *failures[:5]])
    return Verdict(holding / total, None, reason, {f"{part}s": rows})


def missing_context(variables: Variables, transform: ContextTransform | None) -> str:
    """Say what the variables lack for a context. Empty if nothing is missing, or if only the answer can tell."""
    if transform is not None:
        return ""
    value = variables.get("context")
    if value is None or isinstance(value, Mapping):
        return "the variable `context` is missing, and there is no `contextTransform`"
    try:
        _parse_context(value, "the variable `context`")
    except NoVerdict as e:
        return str(e)
    return ""


def missing_query(variables: Variables) -> str:
    """Say what the variables lack for a query. Empty if nothing is missing."""
    query = variables.get("query")
    if query is None:
        return "the variable `query` is missing"
    if not isinstance(query, str):
        return "the variable `query` is not text"
    return "" if strip_invisible(query) else "the variable `query` is empty"


def find_context(transcript: Transcript, transform: ContextTransform | None) -> Context:
    """The context of one answer: from the transform, else the variable ``context``, else the answer's documents.

    Raises NoVerdict if there is none.
    """
    if transform is not None:
        value = transform.apply(transcript.source, transcript.vars, transcript.metadata)
        return _parse_context(value, transform.description)

    value = transcript.vars.get("context")
    if value is not None:
        return _parse_context(value, "the variable `context`")

    answers = transcript.answers
    documents = list(answers[-1].retrieval_context) if answers else []
    return _parse_context(documents or None, "the `retrieval_context` of the answer")


def _parse_context(value: Any, name: str) -> Context:
    """A context of a text or of a list of texts; ``name`` is the subject of messages. Raises NoVerdict."""
    if isinstance(value, str):
        if not strip_invisible(value):
            raise NoVerdict(f"{name} is empty")
        return Context((value,))

    if not is_list_of_texts(value):
        raise NoVerdict(f"{name} is neither a text nor a list of texts")
    if not value:
        raise NoVerdict(f"{name} is empty")
    if not all(map(strip_invisible, value)):
        raise NoVerdict(f"{name} holds an empty text")
    return Context(tuple(value), is_list=True)


def is_list_of_texts(value: Any) -> bool:
    """Whether a value is a list or a tuple with nothing but texts."""
    return isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)
