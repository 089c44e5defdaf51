"""trajectory:tool-used, :tool-sequence, :tool-args-match and :step-count: which tools an answer called, and how.

As in promptfoo: https://www.promptfoo.dev/docs/configuration/expected-outputs/deterministic/#trajectorytool-used,
``src/assertions/trajectory.ts``. promptfoo takes the calls from traces, gradegate from the answer.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    model_validator,
)

from gradegate.assertions.grading.evaluator import (
    Judge,
    NoVerdict,
    Transcript,
    Verdict,
    assertion,
    pass_or_fail,
)
from gradegate.assertions.metrics.tool_calls import (
    KINDS,
    CallsEvaluator,
    Step,
    list_steps,
    matches_pattern,
)
from gradegate.core.field_types import Bounds, Count, FilledText, missed_bound, to_list
from gradegate.structs import JsonObject, replace


def _check_kinds(value: Any) -> Any:
    """Make a list of the kinds of steps. Raises ValueError for an unknown kind."""
    kinds = to_list(value)
    if isinstance(kinds, list):
        for kind in kinds:
            if kind not in KINDS:
                raise ValueError(
                    f"steps of the type {kind!r} are not among tool calls; there are {' and '.join(KINDS)}"
                )
    return kinds


class _Tool(BaseModel):
    # A tool by its name or a pattern. As in promptfoo, ``name`` may be a pattern, too, and ``pattern`` wins.
    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)

    name: str = ""
    pattern: str = ""
    type: Literal["tool"] = "tool"

    @property
    def label(self) -> str:
        return self.pattern or self.name

    @model_validator(mode="after")
    def _check_label(self) -> Self:
        if not self.label:
            raise ValueError("names no tool: give `name` or `pattern`")
        return self

    def fits(self, step: Step) -> bool:
        return step.fits(self.label)


class _Counted(_Tool):
    min: Count = 1
    max: Count | None = None

    @model_validator(mode="after")
    def _check_bounds(self) -> Self:
        if self.max is not None and self.min > self.max:
            if "min" in self.model_fields_set:
                raise ValueError("`min` is above `max`")
            raise ValueError("add `min: 0`: it is 1 without")
        return self

    def fits_count(self, count: int) -> bool:
        return count >= self.min and (self.max is None or count <= self.max)


_WantedTool = Annotated[
    _Tool, BeforeValidator(lambda value: {"pattern": value} if isinstance(value, str) else value)
]
_Texts = Annotated[list[FilledText], BeforeValidator(to_list), Field(min_length=1)]
_Used = Annotated[
    Annotated[_Counted, Tag("object")] | Annotated[_Texts, Tag("list")],
    Discriminator(lambda value: "object" if isinstance(value, Mapping | _Counted) else "list"),
]


def _verdict(passed: bool, reason: str, called_steps: Sequence[Step]) -> Verdict:
    """A verdict with the steps that the answer took."""
    names = []
    evidence = []
    for step in called_steps:
        names.append(str(step))
        evidence.append({"step": str(step), "arguments": step.arguments})
    called = ", ".join(names) or "none"
    return pass_or_fail(passed, f"{reason}; called: {called}", steps=evidence)


@assertion("trajectory:tool-used")
class ToolUsed(CallsEvaluator):
    """The answer called each of these tools, or one tool so many times."""

    value: _Used
    """Tools that must be called: a name, a list, or one with a count as `{name: TOOL, min: N, max: N}`."""

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        """With ``not-``, none of several tools may have been called."""
        called_steps = list_steps(transcript)
        if isinstance(self.value, _Counted):
            return _grade_count(self.value, called_steps)
        return _grade_tools(self.value, called_steps)


def _grade_count(tool: _Counted, called_steps: Sequence[Step]) -> Verdict:
    """Whether the answer called a tool as often as required."""
    count = sum(tool.fits(step) for step in called_steps)
    bounds = f"at least {tool.min}" if tool.max is None else f"{tool.min} to {tool.max}"
    reason = f"{tool.label} was called {count} times, but {bounds} are required"
    return _verdict(tool.fits_count(count), reason, called_steps)


def _grade_tools(patterns: Sequence[str], called_steps: Sequence[Step]) -> Verdict:
    """Whether the answer called each of several tools. The reverse is whether the answer called any of them."""
    called_names = set[str]()
    for step in called_steps:
        called_names.update(name.lower() for name in step.names)

    used = []
    unused = []
    for pattern in patterns:
        # Most patterns are plain names, which are quick to look up.
        if pattern.lower() in called_names or any(step.fits(pattern) for step in called_steps):
            used.append(pattern)
        else:
            unused.append(pattern)

    reason = f"the answer called {', '.join(used)}"
    if unused:
        reason = f"the answer did not call {', '.join(unused)}"
    reverse_reason = f"the answer called {', '.join(used) or 'none of these tools'}"
    reverse = _verdict(bool(used), reverse_reason, called_steps)
    return replace(_verdict(not unused, reason, called_steps), reverse=reverse)


class _Sequence(BaseModel):
    model_config = ConfigDict(extra="forbid")

    mode: Literal["in_order", "exact"] = "in_order"
    steps: list[_WantedTool] = Field(min_length=1)


@assertion("trajectory:tool-sequence")
class ToolSequence(CallsEvaluator):
    """The answer called these tools in this order; with ``mode: exact``, these and no others."""

    value: Annotated[
        _Sequence,
        BeforeValidator(lambda value: {"steps": value} if isinstance(value, list) else value),
    ]
    """Tools in their order: a list, or `{mode: in_order or exact, steps: [...]}`."""

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        called_steps = list_steps(transcript)
        if self.value.mode == "exact":
            return _grade_exact_sequence(self.value.steps, called_steps)
        return _grade_order(self.value.steps, called_steps)


def _grade_exact_sequence(tools: Sequence[_Tool], called_steps: Sequence[Step]) -> Verdict:
    """Whether the answer called exactly these tools in this order."""
    is_same = len(called_steps) == len(tools)
    if is_same:
        pairs = zip(tools, called_steps, strict=True)
        is_same = all(tool.fits(step) for tool, step in pairs)
    verb = "is" if is_same else "is not"
    names = ", ".join(tool.label for tool in tools)
    return _verdict(is_same, f"the sequence {verb} {names}", called_steps)


def _grade_order(tools: Sequence[_Tool], called_steps: Sequence[Step]) -> Verdict:
    """Whether the answer called these tools in this order, with any other calls in between."""
    next_tools = list(tools)
    for step in called_steps:
        if next_tools and next_tools[0].fits(step):
            next_tools.pop(0)
    if next_tools:
        reason = f"{next_tools[0].label} was not called in its place"
        return _verdict(False, reason, called_steps)
    return _verdict(True, "all were called in order", called_steps)


class _Arguments(_Tool):
    args: Any = None
    arguments: Any = None
    mode: Literal["partial", "exact"] = "partial"
    defaults: dict[str, Any] = Field(default_factory=dict)
    ignore: Annotated[list[FilledText], BeforeValidator(to_list)] = Field(default_factory=list)

    @model_validator(mode="after")
    def _check_arguments(self) -> Self:
        if not {"args", "arguments"} & self.model_fields_set:
            raise ValueError("has no `args`")
        return self

    @property
    def expected(self) -> Any:
        return self.args if "args" in self.model_fields_set else self.arguments

    def fits_arguments(self, actual: Any) -> bool:
        """Whether arguments are as expected. Ignored arguments and arguments with their default do not matter."""
        expected = self.expected
        if isinstance(expected, Mapping):
            expected = self._without_ignored(expected)
        if isinstance(actual, Mapping):
            actual = self._without_defaults(self._without_ignored(actual))
        return _fits(actual, expected, is_exact=self.mode == "exact")

    def _without_ignored(self, arguments: JsonObject) -> JsonObject:
        patterns = [entry for entry in self.ignore if "*" in entry or "?" in entry]
        remaining = {}
        for key, value in arguments.items():
            is_ignored = key in self.ignore or any(
                matches_pattern(key, pattern) for pattern in patterns
            )
            if not is_ignored:
                remaining[key] = value
        return remaining

    def _without_defaults(self, arguments: JsonObject) -> JsonObject:
        remaining = {}
        for key, value in arguments.items():
            has_default = key in self.defaults and _fits(value, self.defaults[key])
            if not has_default:
                remaining[key] = value
        return remaining


def _fits(
    actual: Any,
    expected: Any,
    *,
    is_exact: bool = True,
) -> bool:
    """Whether two values are equal as JSON, where true is not 1. If not ``is_exact``, objects may have more members.

    Lists must have the expected length.
    """
    if isinstance(expected, Mapping):
        if not isinstance(actual, Mapping) or (is_exact and len(actual) > len(expected)):
            return False
        for key, value in expected.items():
            if key not in actual or not _fits(actual[key], value, is_exact=is_exact):
                return False
        return True

    if isinstance(expected, list):
        if not isinstance(actual, list) or len(actual) != len(expected):
            return False
        for actual_item, item in zip(actual, expected, strict=True):
            if not _fits(actual_item, item, is_exact=is_exact):
                return False
        return True
    return isinstance(actual, bool) == isinstance(expected, bool) and bool(actual == expected)


@assertion("trajectory:tool-args-match")
class ToolArgsMatch(CallsEvaluator):
    """The answer called a tool with these arguments."""

    value: _Arguments
    """The tool and its arguments: `{name: TOOL, args: {...}, mode: partial or exact}`."""

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        """One call that fits is enough. Raises NoVerdict if only unreadable arguments might fit."""
        tool = self.value
        all_steps = list_steps(transcript)
        tool_steps = [step for step in all_steps if tool.fits(step)]
        if any(tool.fits_arguments(step.arguments) for step in tool_steps):
            return _verdict(True, f"{tool.label} was called with these arguments", all_steps)

        # An expected text is compared with arguments that are not JSON as well.
        if not isinstance(tool.expected, str):
            for step in tool_steps:
                if step.parse_error:
                    raise NoVerdict(step.parse_error)
        fault = "was called with other arguments" if tool_steps else "was not called"
        return _verdict(False, f"{tool.label} {fault}", all_steps)


class _Steps(Bounds):
    type: Annotated[list[str] | None, BeforeValidator(_check_kinds)] = None
    name: str = ""
    pattern: str = ""
    min: Count | None = None
    max: Count | None = None


@assertion("trajectory:step-count")
class StepCount(CallsEvaluator):
    """The answer took so many steps: calls of tools, or of commands."""

    value: _Steps
    """How many steps: `{type: tool or command, name: TOOL, min: N, max: N}`."""

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        counted = self.value
        pattern = counted.pattern or counted.name
        all_steps = list_steps(transcript)
        count = 0
        for step in all_steps:
            has_kind = not counted.type or step.kind in counted.type
            if has_kind and (not pattern or step.fits(pattern)):
                count += 1
        missed = missed_bound(count, counted.min, counted.max)
        return _verdict(not missed, f"the count of steps is {count}{missed}", all_steps)
