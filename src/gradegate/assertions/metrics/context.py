"""The context that an answer was given with: the variable ``context``, or what ``contextTransform`` finds."""

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

# promptfoo's rule, and the full stops of Chinese and Japanese, which no blank follows.
_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])\s*")
_NUMBER = re.compile(r"\(?\d+[.)]?$")
_BLANKED = str.maketrans(dict.fromkeys("\"'“”‘’«»`*_.,;:…。，；：、", " "))
_MEMBER_OF_OUTPUT = re.compile(r"\boutput\s*(?:\?\.|\.|\[)")
_MOST_SEARCHES = 200  # of parts of units that are quoted out of order
_LEAST_WORDS = 3  # what is shorter is not a quotation, unless it is a whole sentence


def units(text: str) -> list[str]:
    """The lines where there are two or more, else the sentences: promptfoo's units of a context."""
    rows = [line.strip() for line in text.splitlines() if line.strip()]
    if len(rows) > 1:
        return rows
    pieces = (piece.strip() for piece in _END.split(text))
    return [piece for piece in pieces if piece and not _NUMBER.match(piece)]


class Quotations:
    """A context with its units, to hold quotations against; a text and its quotation may differ in case and punctuation."""

    def __init__(self, text: str, units: Sequence[str]) -> None:
        self._whole = f" {_folded(text)} "
        self._units = tuple(units)
        self._starts: list[int] = []
        self._searches = 0
        self._places: dict[str, int] = {}  # of whole units, which may be quoted in any order
        position = 0
        for unit in units:
            found = self._whole.find(f" {_folded(unit)} ", position)
            position = max(found, position)
            self._starts.append(position)
            if found >= 0:
                self._places.setdefault(_folded(unit), found)

    def holds(self, text: str) -> bool:
        """Whether a text of at least one word stands in the context, word for word."""
        folded = _folded(text)
        if not folded or folded in self._places:
            return bool(folded)
        self._searches += 1
        return self._searches <= _MOST_SEARCHES and f" {folded} " in self._whole

    def covered(self, quotations: Sequence[str]) -> tuple[str, ...]:
        """The units that are quoted, in whole or in part, each once. Raises Unreadable for what the context does not hold."""
        covered: dict[int, None] = {}
        start = searches = 0
        for text in dict.fromkeys(map(_folded, quotations)):
            place = self._places.get(text, -1)
            if text and place < 0:
                place = self._whole.find(f" {text} ", start)  # mostly, the order is the context's
            if text and place < 0:
                searches += 1  # each over the whole context
                place = self._whole.find(f" {text} ") if searches <= _MOST_SEARCHES else -1
            start = place
            first = max(0, bisect.bisect_right(self._starts, start) - 1)
            end = bisect.bisect_left(self._starts, start + len(text))
            whole_unit = any(_folded(unit) == text for unit in self._units[first:end])
            if start < 0 or not (whole_unit or len(text.split()) >= _LEAST_WORDS):
                raise Unreadable(
                    f"{excerpt(text, 80)!r} is not quoted from the context; copy sentences word for word, and add nothing"
                )
            covered |= dict.fromkeys(range(first, max(end, first + 1)))
        return tuple(self._units[number] for number in sorted(covered))


def _folded(text: str) -> str:
    """A text for comparison: lower case, one blank between words, without quotes, brackets and punctuation."""
    return " ".join(text.lower().translate(_BLANKED).split())


@dataclass(frozen=True, slots=True)
class ContextTransform:
    """A ``contextTransform``: code that finds the retrieved texts of an answer."""

    code: Code

    def apply(self, output: Any, variables: Variables, metadata: JsonObject) -> Any:
        """What the code returns. Raises NoVerdict if it fails or returns nothing."""
        context = {"vars": variables, "metadata": metadata}
        try:
            value = transform_script(self.code).call(output, context).value
        except ScriptError as e:
            raise NoVerdict(f"contextTransform fails: {e}{self._hint(output)}") from e
        if value is None:
            raise NoVerdict(f"{self.described} is nothing{self._hint(output)}")
        return value

    @property
    def described(self) -> str:
        """What the code returns, as messages call it."""
        return f"what contextTransform `{show_code(self.code)}` gives"

    def _hint(self, output: Any) -> str:
        is_member = isinstance(self.code, str) and _MEMBER_OF_OUTPUT.search(self.code)
        if isinstance(output, str) and is_member:
            return "; the answer is a text: write `JSON.parse(output)` if it is JSON"
        return ""


def _read_transform(written: Any) -> Any:
    if not isinstance(written, str | Mapping):
        raise ValueError("is not text")
    transform_script(written)
    return ContextTransform(written)


# The option of a grader; it is checked where the config is.
ContextTransformOption = Annotated[ContextTransform, BeforeValidator(_read_transform)]


class Context(FrozenStruct):
    """The retrieved texts. ``listed``: they were given as a list, and each is a unit."""

    chunks: tuple[str, ...]
    listed: bool = False

    @property
    def text(self) -> str:
        """All of it, a blank line between chunks, as promptfoo joins them."""
        return "\n\n".join(self.chunks)

    @property
    def units(self) -> tuple[str, ...]:
        """The chunks of a list; of a text its lines, or its sentences where it has one line."""
        return self.chunks if self.listed else tuple(units(self.text))


@options
class ContextEvaluator(ModelEvaluator):
    """Base of the graders that hold something against the context."""

    scoring = Scoring(0.5)

    context_transform: ContextTransformOption | None = None

    def context_of(self, transcript: Transcript) -> Context:
        """The context of one answer. Raises NoVerdict when there is none."""
        return resolve(transcript, self.context_transform)

    def missing_variables(self, variables: Variables) -> str:
        """The query and the context."""
        return lacks_query(variables) or lacks(variables, self.context_transform)


def share_of(
    parts: Sequence[tuple[str, bool]], summary: str, name: str, part: str, held: str
) -> Verdict:
    """The share of the parts that hold. The evidence ``name`` has each ``part`` and whether it ``held``; the reason names five others.

    ``summary`` has a ``{}`` for the number of those that hold and one for all.
    """
    fit = sum(holds for _, holds in parts)
    reason = "; not: ".join(
        [summary.format(fit, len(parts)), *[text for text, holds in parts if not holds][:5]]
    )
    return Verdict(
        fit / len(parts), None, reason, {name: [{part: text, held: holds} for text, holds in parts]}
    )


def lacks(variables: Variables, transform: ContextTransform | None) -> str:
    """What the variables lack for a context, as a sentence; empty when nothing, or when only the answer can tell."""
    if transform is not None:
        return ""
    if variables.get("context") is None or isinstance(variables["context"], Mapping):
        return "the variable `context` is missing, and there is no `contextTransform`"
    try:
        _texts(variables["context"], "the variable `context`")
    except NoVerdict as e:
        return str(e)
    return ""


def lacks_query(variables: Variables) -> str:
    """What the variables lack for a query, as a sentence; empty when nothing."""
    query = variables.get("query")
    if query is None:
        return "the variable `query` is missing"
    if not isinstance(query, str):
        return "the variable `query` is not text"
    return "" if strip_invisible(query) else "the variable `query` is empty"


def resolve(transcript: Transcript, transform: ContextTransform | None) -> Context:
    """The context of one answer. Raises NoVerdict when there is none."""
    if transform is None:
        written = transcript.vars.get("context")
        if written is not None:
            return _texts(written, "the variable `context`")
        answers = transcript.answers
        return _texts(
            list(answers[-1].retrieval_context) or None if answers else None,
            "the `retrieval_context` of the answer",
        )
    value = transform.apply(transcript.source, transcript.vars, transcript.metadata)
    return _texts(value, transform.described)


def _texts(value: Any, what: str) -> Context:
    if isinstance(value, str):
        if not strip_invisible(value):
            raise NoVerdict(f"{what} is empty")
        return Context((value,))
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise NoVerdict(f"{what} is neither a text nor a list of texts")
    if not value or not all(map(strip_invisible, value)):
        raise NoVerdict(f"{what} is empty" if not value else f"{what} holds an empty text")
    return Context(tuple(value), listed=True)
