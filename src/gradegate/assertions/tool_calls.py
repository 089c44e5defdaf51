"""is-valid-openai-tools-call and its relatives, tool-call-f1 and tool-correctness: the calls in an answer.

As in promptfoo: https://www.promptfoo.dev/docs/configuration/expected-outputs/deterministic/#is-valid-openai-tools-call,
``src/assertions/openai.ts``, ``functionToolCall.ts`` and ``toolCallF1.ts``. Schemas as https://json-schema.org defines them.
tool-correctness is DeepEval's (``metrics/tool_correctness``), over names.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from gradegate.assertions.grading.evaluator import (
    Judge,
    NoVerdict,
    Scoring,
    Transcript,
    Verdict,
    assertion,
    pass_or_fail,
)
from gradegate.assertions.metrics.tool_calls import (
    UNKNOWN_CALLS,
    CallsEvaluator,
    list_calls,
    name_and_arguments,
    parse_arguments,
    resolve_tool,
)
from gradegate.core.field_types import FilledText, split_list, strip_texts
from gradegate.files import documents
from gradegate.files.json_text import describe_syntax_error
from gradegate.providers.api.content import function_schemas
from gradegate.structs import JsonObject
from gradegate.templating import json_schema, lenient_json

MOST = 20  # faults and names of tools that a reason says


@assertion("is-valid-openai-tools-call", "is-valid-openai-function-call", "is-valid-function-call")
class IsValidToolCall(CallsEvaluator):
    """The answer calls tools that the target was given, with arguments that conform to their JSON Schemas."""

    tools: Any = None  # in place of the target's own, which a recorded answer does not have

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        functions = transcript.tools
        if self.tools is not None:
            functions = function_schemas({"tools": self.tools})
        if functions is None:
            raise NoVerdict("the target's config has no `tools` to check the calls against")
        answer_calls = list_calls(transcript)
        if not answer_calls:
            return pass_or_fail(False, "the answer calls no tool")
        faults = _find_faults(answer_calls, functions)
        names = ", ".join(name_and_arguments(call)[0] for call in answer_calls)
        reason = "; ".join(faults) or f"valid calls: {names}"
        return pass_or_fail(not faults, reason, calls=[*answer_calls])


def _find_faults(answer_calls: Sequence[JsonObject], functions: JsonObject) -> list[str]:
    """What is wrong with calls: the tool, JSON of the arguments, or arguments that do not fit the schema of the tool."""
    offered = ", ".join(islice(functions, MOST)) or "no function"
    if len(functions) > MOST:
        offered += ", ..."

    faults = []
    readable_calls = []  # pairs of name and arguments
    for call in answer_calls:
        name, text = name_and_arguments(call)
        if name not in functions or call.get("type") != "function":
            faults.append(f"`{name}` was called, and the target was given {offered}")
            continue
        try:
            readable_calls.append((name, parse_arguments(name, text)))
        except json.JSONDecodeError as e:
            faults.append(
                f"the arguments of `{name}` are not JSON: {describe_syntax_error(e, text)}"
            )

    # One request checks the arguments of all calls.
    names = dict.fromkeys(name for name, _ in readable_calls)
    schemas = {name: documents.to_json(functions[name]) for name in names}
    try:
        problems = json_schema.schema_problems(schemas, readable_calls)
    except ValueError as e:
        shown = "`, `".join(islice(names, MOST))
        raise NoVerdict(
            f"the arguments of `{shown}` cannot be checked against the schema: {e}"
        ) from e
    for (name, _), problem in zip(readable_calls, problems, strict=True):
        if problem:
            faults.append(f"the arguments of `{name}` do not fit its schema: {problem}")
    return faults


_Names = Annotated[
    list[FilledText],
    BeforeValidator(strip_texts),
    BeforeValidator(split_list),
    Field(min_length=1),
]


@assertion("tool-call-f1")
class ToolCallF1(CallsEvaluator):
    """The tools that the answer calls are the expected ones: the F1 of their names, whatever the order."""

    scoring = Scoring(1.0)

    value: _Names
    """Names of the expected tools: a list, or a text with commas."""

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        answer_calls = list_calls(transcript)
        names = [name_and_arguments(call)[0] for call in answer_calls or ()]
        if not answer_calls:
            names = list(_names_in_text(transcript.output))
        called = {resolve_tool(name, transcript) for name in names}
        expected = set(self.value)

        # F1 = 2 · hits / (expected + called), the harmonic mean of precision and recall.
        hits = len(expected & called)
        score = 2 * hits / (len(expected) + len(called)) if hits else 0.0
        called_names = sorted(called)
        expected_names = sorted(expected)
        reason = (
            f"called {', '.join(called_names) or 'nothing'}, expected {', '.join(expected_names)}"
        )
        return Verdict(score, None, reason, {"called": called_names, "expected": expected_names})


def _names_in_text(text: str) -> Iterator[str]:
    """The names of calls that a text has as JSON: a list, or objects that fill whole lines."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        data = None
    if isinstance(data, list):
        for item in data:
            if isinstance(item, Mapping) and isinstance(item.get("name"), str):
                yield item["name"]

    for value, start, end in lenient_json.find_objects(text):
        if _fills_lines(text, start, end):
            yield from _names_in_object(value)


def _fills_lines(text: str, start: int, end: int) -> bool:
    """Whether nothing but blanks, commas and brackets of a list are around a part of a text, on the same lines."""
    before = start - 1
    while before >= 0 and text[before] in " \t\r[,":
        before -= 1
    after = end
    while after < len(text) and text[after] in " \t\r],":
        after += 1
    begins_line = before < 0 or text[before] == "\n"
    ends_line = after == len(text) or text[after] == "\n"
    return begins_line and ends_line


def _names_in_object(value: JsonObject) -> Iterator[str]:
    """The names of calls in an object, which is a message or a call."""
    function = value.get("function", value.get("functionCall"))
    tool_calls = value.get("tool_calls")
    name = value.get("name")
    if isinstance(tool_calls, list):
        for call in tool_calls:
            if isinstance(call, Mapping):
                yield from _names_in_object(call)
    elif isinstance(function, Mapping) and isinstance(function.get("name"), str):
        yield function["name"]
    elif value.get("type") in ("tool_use", "function_call") and isinstance(name, str):
        yield name


@assertion("tool-correctness")
class ToolCorrectness(CallsEvaluator):
    """The answer called the expected tools: the share of them that it called."""

    scoring = Scoring(0.5)

    value: _Names
    """Names of the expected tools: a list, or a text with commas."""
    should_consider_ordering: bool = False
    should_exact_match: bool = False
    strict_mode: bool = False

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        """Expected tools that were called among the expected; in order, the longest common sequence; exact, 1 or 0."""
        answer_calls = list_calls(transcript)
        if answer_calls is None:
            raise NoVerdict(UNKNOWN_CALLS)
        called = [resolve_tool(name_and_arguments(call)[0], transcript) for call in answer_calls]
        reason = f"called {', '.join(called) or 'nothing'}, expected {', '.join(self.value)}"
        score = self._score(called)
        if self.strict_mode:
            score = float(score == 1)
        return Verdict(score, None, reason, {"called": called, "expected": self.value})

    def _score(self, called: Sequence[str]) -> float:
        """From 0 to 1, for the tools that were called."""
        expected = self.value
        if self.should_exact_match:
            if self.should_consider_ordering:
                return float(called == expected)
            return float(sorted(called) == sorted(expected))
        if self.should_consider_ordering:
            return _common_length(called, expected) / len(expected)
        hits = Counter(called) & Counter(expected)
        return hits.total() / len(expected)


def _common_length(first: Sequence[str], second: Sequence[str]) -> int:
    """The length of the longest common subsequence (Hyyrö 2004, "Bit-parallel LCS-length")."""
    # A bit for each name of the second sequence. The names with a 0 belong to the subsequence.
    places: dict[str, int] = {}
    for place, name in enumerate(second):
        places[name] = places.get(name, 0) | (1 << place)
    all_bits = (1 << len(second)) - 1
    row = all_bits
    for name in first:
        same = row & places.get(name, 0)
        row = ((row + same) | (row - same)) & all_bits
    return len(second) - row.bit_count()
