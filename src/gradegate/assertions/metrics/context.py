"""The context of an answer: the variable ``context``, or the texts that ``contextTransform`` finds in the answer.

A context has units, such as sentences. Graders measure which units are used, and quote units word for word.
"""

import bisect
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
    Unreadable,
    Verdict,
    options,
)
from gradegate.assertions.judge.prose import strip_invisible
from gradegate.core.conversation import Variables
from gradegate.core.provider_spec import Code
from gradegate.security.redaction import excerpt
from gradegate.structs import FrozenStruct, JsonObject
from gradegate.templating.script import ScriptError, show_code, transform_script

# promptfoo's rule, and the full stops of Chinese and Japanese, which no blank follows
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])\s*")
_NUMBER = re.compile(r"\(?\d+[.)]?$")
_PUNCTUATION = str.maketrans(dict.fromkeys("\"'“”‘’«»`*_.,;:…。，；：、", " "))
_MEMBER_OF_OUTPUT = re.compile(r"\boutput\s*(?:\?\.|\.|\[)")
# Searches of a whole context. Each costs time, and a grader could quote any number of texts.
_MAX_SEARCHES = 200
_MIN_WORDS = 3  # of a quotation that is not a whole unit


def split_units(text: str) -> list[str]:
    """The units of a text as in promptfoo: the lines if there are at least two, else the sentences."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) > 1:
        return lines
    sentences = [sentence.strip() for sentence in _SENTENCE_END.split(text)]
    return [sentence for sentence in sentences if sentence and not _NUMBER.match(sentence)]


class QuotationFinder:
    """Finds the places of quotations in a context. A quotation may differ in case and punctuation."""

    def __init__(self, context: str, units: Sequence[str]) -> None:
        self._context = f" {_fold(context)} "
        self._units = tuple(units)
        self._searches = 0
        # Where each unit begins, in order. A unit that is not found begins where the one before it does.
        self._starts: list[int] = []
        # The first place of each folded unit, because whole units may be quoted in any order
        self._unit_places: dict[str, int] = {}

        position = 0
        for unit in units:
            folded = _fold(unit)
            place = self._context.find(f" {folded} ", position)
            if place >= 0:
                position = place
                self._unit_places.setdefault(folded, place)
            self._starts.append(position)

    def contains(self, text: str) -> bool:
        """Whether a text of at least one word is in the context, word for word."""
        folded = _fold(text)
        if not folded:
            return False
        if folded in self._unit_places:
            return True
        self._searches += 1
        return self._searches <= _MAX_SEARCHES and f" {folded} " in self._context

    def quoted_units(self, quotations: Sequence[str]) -> tuple[str, ...]:
        """The distinct units that are quoted, in whole or in part, in the order of the context.

        Raises Unreadable if a text is not in the context, or is shorter than a unit and than three words.
        """
        quoted_numbers = set[int]()
        searches = 0
        place = 0
        for text in dict.fromkeys(map(_fold, quotations)):
            previous_place = place
            place = self._unit_places.get(text, -1)
            if place < 0:
                # Most graders quote in the order of the context.
                place = self._context.find(f" {text} ", previous_place)
            if place < 0 and searches < _MAX_SEARCHES:
                searches += 1
                place = self._context.find(f" {text} ")

            # The units from the one that contains the first character of the text to the one that contains the last
            first = max(0, bisect.bisect_right(self._starts, place) - 1)
            end = bisect.bisect_left(self._starts, place + len(text))
            is_unit = any(_fold(unit) == text for unit in self._units[first:end])
            is_quotation = is_unit or len(text.split()) >= _MIN_WORDS
            if place < 0 or not is_quotation:
                raise Unreadable(
                    f"{excerpt(text, 80)!r} is not quoted from the context; copy sentences word for word, and add nothing"
                )
            quoted_numbers.update(range(first, max(end, first + 1)))
        return tuple(self._units[number] for number in sorted(quoted_numbers))


def _fold(text: str) -> str:
    """A text for comparison: lower case, one blank between words, without quotation marks and punctuation."""
    return " ".join(text.lower().translate(_PUNCTUATION).split())


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
    parts: Sequence[tuple[str, bool]], summary: str, name: str, text_key: str, holds_key: str
) -> Verdict:
    """The verdict of which the score is the share of the parts that hold.

    A part is a text with whether it holds. ``summary`` has a ``{}`` for the number of parts that hold, and another for the
    number of all. The reason quotes up to five parts that do not hold. In the evidence, the list ``name`` has an object
    for each part, with the keys ``text_key`` and ``holds_key``.
    """
    evidence = []
    failures = []
    for text, holds in parts:
        evidence.append({text_key: text, holds_key: holds})
        if not holds:
            failures.append(text)

    total = len(parts)
    holding = total - len(failures)
    reason = "; not: ".join([summary.format(holding, total), *failures[:5]])
    return Verdict(holding / total, None, reason, {name: evidence})


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

    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise NoVerdict(f"{name} is neither a text nor a list of texts")
    if not value:
        raise NoVerdict(f"{name} is empty")
    if not all(map(strip_invisible, value)):
        raise NoVerdict(f"{name} holds an empty text")
    return Context(tuple(value), is_list=True)
