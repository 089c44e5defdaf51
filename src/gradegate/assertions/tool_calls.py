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
from gradegate.providers.api.content import function_schemas
from gradegate.structs import JsonObject
from gradegate.templating import json_schema, lenient_json

MOST = 20  # faults and names of tools that a reason says


@assertion("is-valid-openai-tools-call", "is-valid-openai-function-call", "is-valid-function-call")
class IsValidToolCall(CallsEvaluator):
    """The answer calls tools that the target was given, with arguments that conform to their JSON Schemas."""

    tools: Any = None  # in place of the target's own, which a recorded answer does not have

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        functions = (
            transcript.tools if self.tools is None else function_schemas({"tools": self.tools})
        )
        if functions is None:
            raise NoVerdict("the target's config has no `tools` to check the calls against")
        called = list_calls(transcript)
        if not called:
            return pass_or_fail(False, "the answer calls no tool")
        faults = _faults(called, functions)
        names = ", ".join(name_and_arguments(call)[0] for call in called)
        reason = "; ".join(faults) or f"valid calls: {names}"
        return pass_or_fail(not faults, reason, calls=[*called])


def _faults(called: Sequence[JsonObject], functions: JsonObject) -> list[str]:
    """Why calls are not of the known tools with the arguments that these take. One request checks the arguments of all."""
    offered = (
        ", ".join(islice(functions, MOST)) + (", ..." if len(functions) > MOST else "")
        or "no function"
    )
    faults = []
    checked = []
    for call in called:
        name, text = name_and_arguments(call)
        if name not in functions or call.get("type") != "function":
            faults.append(f"`{name}` was called, and the target was given {offered}")
            continue
        try:
            checked.append((name, parse_arguments(name, text)))
        except json.JSONDecodeError as e:
            faults.append(f"the arguments of `{name}` are not JSON: {documents.fault(e, text)}")
    names = dict.fromkeys(name for name, _ in checked)
    try:
        breaches = json_schema.schema_problems(
            {name: documents.to_json(functions[name]) for name in names}, checked
        )
    except ValueError as e:
        shown = "`, `".join(islice(names, MOST))
        raise NoVerdict(
            f"the arguments of `{shown}` cannot be checked against the schema: {e}"
        ) from e
    faults += [
        f"the arguments of `{name}` do not fit its schema: {breach}"
        for (name, _), breach in zip(checked, breaches, strict=True)
        if breach
    ]
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
        names = (
            [name_and_arguments(call)[0] for call in answer_calls]
            if answer_calls
            else _in_text(transcript.output)
        )
        called = {resolve_tool(name, transcript) for name in names}
        wanted = set(self.value)
        hits = len(wanted & called)
        score = 2 * hits / (len(wanted) + len(called)) if hits else 0.0
        reason = (
            f"called {', '.join(sorted(called)) or 'nothing'}, expected {', '.join(sorted(wanted))}"
        )
        return Verdict(score, None, reason, {"called": sorted(called), "expected": sorted(wanted)})


def _in_text(text: str) -> Iterator[str]:
    """The names in calls that a text gives as JSON on lines of their own: blocks between words, messages, items."""
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        whole = None
    if isinstance(whole, list):
        yield from (
            item["name"]
            for item in whole
            if isinstance(item, Mapping) and isinstance(item.get("name"), str)
        )
    for value, start, end in lenient_json.find_objects(text):
        before, after = start - 1, end  # of what is beside it on its lines
        while before >= 0 and text[before] in " \t\r[,":
            before -= 1
        while after < len(text) and text[after] in " \t\r],":
            after += 1
        if (before < 0 or text[before] == "\n") and (after == len(text) or text[after] == "\n"):
            yield from _named_in(value)


def _named_in(value: JsonObject) -> Iterator[str]:
    inner = value.get("function", value.get("functionCall"))
    if isinstance(value.get("tool_calls"), list):
        yield from (
            name
            for item in value["tool_calls"]
            if isinstance(item, Mapping)
            for name in _named_in(item)
        )
    elif isinstance(inner, Mapping) and isinstance(inner.get("name"), str):
        yield inner["name"]
    elif value.get("type") in ("tool_use", "function_call") and isinstance(value.get("name"), str):
        yield value["name"]


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
        if self.should_exact_match:
            score = float(
                called == self.value
                if self.should_consider_ordering
                else sorted(called) == sorted(self.value)
            )
        elif self.should_consider_ordering:
            score = _common(called, self.value) / len(self.value)
        else:
            score = (Counter(called) & Counter(self.value)).total() / len(self.value)
        score = float(score == 1) if self.strict_mode else score
        return Verdict(score, None, reason, {"called": called, "expected": self.value})


def _common(first: Sequence[str], second: Sequence[str]) -> int:
    """The length of the longest sequence that is in both, in order (Hyyrö 2004, "Bit-parallel LCS-length")."""
    # A bit for each name of the second; those that are 0 are in the sequence.
    places: dict[str, int] = {}
    for place, name in enumerate(second):
        places[name] = places.get(name, 0) | 1 << place
    whole = row = (1 << len(second)) - 1
    for name in first:
        same = row & places.get(name, 0)
        row = (row + same | row - same) & whole
    return len(second) - row.bit_count()
