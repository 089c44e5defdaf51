"""trajectory:tool-used, :tool-sequence, :tool-args-match and :step-count: which tools an answer called, and how.

As in promptfoo: https://www.promptfoo.dev/docs/configuration/expected-outputs/deterministic/#trajectorytool-used,
``src/assertions/trajectory.ts``; but over the calls that the answer tells, with no tracing.
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


def _kinds(value: Any) -> Any:
    value = to_list(value)
    strange = [item for item in value if item not in KINDS] if isinstance(value, list) else []
    if strange:
        raise ValueError(
            f"steps of the type {strange[0]!r} are not among tool calls; there are {' and '.join(KINDS)}"
        )
    return value


class _Tool(BaseModel):
    # A tool by its name or a pattern of it; ``pattern`` wins, and ``name`` is one as well, as in promptfoo.
    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)

    name: str = ""
    pattern: str = ""
    type: Literal["tool"] = "tool"

    @property
    def label(self) -> str:
        return self.pattern or self.name

    @model_validator(mode="after")
    def _named(self) -> Self:
        if not self.label:
            raise ValueError("names no tool: give `name` or `pattern`")
        return self

    def fits(self, step: Step) -> bool:
        return step.fits(self.label)


class _Counted(_Tool):
    min: Count = 1
    max: Count | None = None

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.max is not None and self.min > self.max:
            raise ValueError(
                "`min` is above `max`"
                if "min" in self.model_fields_set
                else "add `min: 0`: it is 1 without"
            )
        return self


_Wanted = Annotated[
    _Tool, BeforeValidator(lambda value: {"pattern": value} if isinstance(value, str) else value)
]
_Texts = Annotated[list[FilledText], BeforeValidator(to_list), Field(min_length=1)]
_Used = Annotated[
    Annotated[_Counted, Tag("object")] | Annotated[_Texts, Tag("list")],
    Discriminator(lambda value: "object" if isinstance(value, Mapping | _Counted) else "list"),
]


def _verdict(passed: bool, reason: str, called: Sequence[Step]) -> Verdict:
    return pass_or_fail(
        passed,
        f"{reason}; called: {', '.join(map(str, called)) or 'none'}",
        steps=[{"step": str(step), "arguments": step.arguments} for step in called],
    )


@assertion("trajectory:tool-used")
class ToolUsed(CallsEvaluator):
    """The answer called each of these tools, or one tool so many times."""

    value: _Used
    """Tools that must be called: a name, a list, or one with a count as `{name: TOOL, min: N, max: N}`."""

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        """With ``not-``, none of several tools may have been called."""
        called = list_steps(transcript)
        wanted = self.value
        if isinstance(wanted, _Counted):
            count = sum(wanted.fits(step) for step in called)
            fits_count = count >= wanted.min and (wanted.max is None or count <= wanted.max)
            bounds = (
                f"at least {wanted.min}" if wanted.max is None else f"{wanted.min} to {wanted.max}"
            )
            return _verdict(
                fits_count,
                f"{wanted.label} was called {count} times, but {bounds} are required",
                called,
            )
        names = {name.lower() for step in called for name in step.names}
        used = [
            name
            for name in wanted
            if name.lower() in names or any(step.fits(name) for step in called)
        ]
        lacking = [name for name in wanted if name not in used]
        said = f"did not call {', '.join(lacking)}" if lacking else f"called {', '.join(used)}"
        reverse = _verdict(
            bool(used), f"the answer called {', '.join(used) or 'none of these tools'}", called
        )
        return replace(_verdict(not lacking, f"the answer {said}", called), reverse=reverse)


class _Sequence(BaseModel):
    model_config = ConfigDict(extra="forbid")

    mode: Literal["in_order", "exact"] = "in_order"
    steps: list[_Wanted] = Field(min_length=1)


@assertion("trajectory:tool-sequence")
class ToolSequence(CallsEvaluator):
    """The answer called these tools in this order; with ``mode: exact``, these and no others."""

    value: Annotated[
        _Sequence,
        BeforeValidator(lambda value: {"steps": value} if isinstance(value, list) else value),
    ]
    """Tools in their order: a list, or `{mode: in_order or exact, steps: [...]}`."""

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        called = list_steps(transcript)
        wanted = self.value.steps
        if self.value.mode == "exact":
            same = len(called) == len(wanted) and all(
                one.fits(step) for one, step in zip(wanted, called, strict=True)
            )
            names = ", ".join(one.label for one in wanted)
            return _verdict(same, f"the sequence is {'' if same else 'not '}{names}", called)
        left = iter(wanted)
        awaited = next(left, None)
        for step in called:
            if awaited and awaited.fits(step):
                awaited = next(left, None)
        reason = (
            f"{awaited.label} was not called in its place"
            if awaited
            else "all were called in order"
        )
        return _verdict(not awaited, reason, called)


class _Arguments(_Tool):
    args: Any = None
    arguments: Any = None
    mode: Literal["partial", "exact"] = "partial"
    defaults: dict[str, Any] = Field(default_factory=dict)
    ignore: Annotated[list[FilledText], BeforeValidator(to_list)] = Field(default_factory=list)

    @model_validator(mode="after")
    def _expects(self) -> Self:
        if not {"args", "arguments"} & self.model_fields_set:
            raise ValueError("has no `args`")
        return self

    @property
    def expected(self) -> Any:
        return self.args if "args" in self.model_fields_set else self.arguments

    def takes(self, actual: Any) -> bool:
        """Whether arguments are the expected ones, apart from what is ignored or has its default."""
        if _is_map(actual):
            actual = {
                k: v
                for k, v in self._kept(actual).items()
                if not (k in self.defaults and _same(v, self.defaults[k]))
            }
        expected = self._kept(self.expected) if _is_map(self.expected) else self.expected
        return _same(actual, expected) if self.mode == "exact" else _holds(actual, expected)

    def _kept(self, arguments: JsonObject) -> JsonObject:
        patterns = [entry for entry in self.ignore if set(entry) & set("*?")]
        ignored = {
            key
            for key in arguments
            if key in self.ignore or any(matches_pattern(key, entry) for entry in patterns)
        }
        return {key: value for key, value in arguments.items() if key not in ignored}


def _is_map(value: Any) -> bool:
    return isinstance(value, Mapping)


def _same(actual: Any, expected: Any) -> bool:
    """Equal as JSON: true is not 1."""
    if _is_map(actual) and _is_map(expected):
        return actual.keys() == expected.keys() and all(
            _same(actual[key], expected[key]) for key in expected
        )
    if isinstance(actual, list) and isinstance(expected, list):
        return len(actual) == len(expected) and all(map(_same, actual, expected))
    return isinstance(actual, bool) == isinstance(expected, bool) and bool(actual == expected)


def _holds(actual: Any, expected: Any) -> bool:
    """Every member that is expected is there, at any depth; lists are as long as expected."""
    if _is_map(expected):
        return _is_map(actual) and all(
            key in actual and _holds(actual[key], item) for key, item in expected.items()
        )
    if isinstance(expected, list):
        return (
            isinstance(actual, list)
            and len(actual) == len(expected)
            and all(map(_holds, actual, expected))
        )
    return _same(actual, expected)


@assertion("trajectory:tool-args-match")
class ToolArgsMatch(CallsEvaluator):
    """The answer called a tool with these arguments."""

    value: _Arguments
    """The tool and its arguments: `{name: TOOL, args: {...}, mode: partial or exact}`."""

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        """One call that fits is enough. Raises NoVerdict where only arguments that cannot be read might fit."""
        called = list_steps(transcript)
        fitting = [step for step in called if self.value.fits(step)]
        if any(self.value.takes(step.arguments) for step in fitting):
            return _verdict(True, f"{self.value.label} was called with these arguments", called)
        unread = next((step.parse_error for step in fitting if step.parse_error), "")
        if unread and not isinstance(self.value.expected, str):  # a text is compared with a text
            raise NoVerdict(unread)
        fault = "was called with other arguments" if fitting else "was not called"
        return _verdict(False, f"{self.value.label} {fault}", called)


class _Steps(Bounds):
    type: Annotated[list[str] | None, BeforeValidator(_kinds)] = None
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
        wanted = self.value
        all_steps = list_steps(transcript)
        pattern = wanted.pattern or wanted.name
        found = [
            step
            for step in all_steps
            if (not wanted.type or step.kind in wanted.type) and (not pattern or step.fits(pattern))
        ]
        limit = missed_bound(len(found), wanted.min, wanted.max)
        return _verdict(not limit, f"the count of steps is {len(found)}{limit}", all_steps)
