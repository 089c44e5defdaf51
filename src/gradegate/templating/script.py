"""Code of a config that makes one value of others: a snippet or file of JavaScript, or a program with ``--allow-exec``.

There is a function for each key of a config that takes code, such as ``assertion_script``. It returns a script with ``call``.
This process looks at the text of JavaScript (``javascript``). The worker calls it with plain data (``docs/code.md``), each time
in a new context, so nothing of one answer is left for the next.
"""

import json
import math
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from hashlib import sha256
from typing import Any, Literal

from gradegate.core.provider_spec import Code
from gradegate.files.limits import MAX_SCRIPT, SCRIPT_RUNAWAYS
from gradegate.sandbox import repository_code
from gradegate.sandbox.evaluate import (
    SCRIPTS,
    LimitExceeded,
    RunLimitExceeded,
    TaskRefused,
    evaluate,
)
from gradegate.sandbox.program import Program, quoted_words
from gradegate.structs import FrozenStruct, JsonObject
from gradegate.templating import javascript

COUNT = "__count"  # the name under which derived metrics find the number of answers
_WORKER = "gradegate.templating.quickjs_worker"
_TOO_DEEP = "Maximum call stack size exceeded"  # the engine's words for a limit that code can run into by itself
_MODULE_NAMES = ("module", "exports")
# Plain data lacks members that are undefined: without this, `{output: json.absent}` would be an answer without `output`.
_WITH_OUTPUT = (
    "((value) => value && typeof value === 'object' && 'output' in value"
    " && value.output === undefined && !value.error ? null : value)"
)


class ScriptError(ValueError):
    """A script cannot be used or gave no value; ``line`` is a line of it (0: unknown), ``cure`` what to do."""

    def __init__(self, what: str, line: int = 0, cure: str = "correct it") -> None:
        super().__init__(f"{what} (line {line})" if line else what)
        self.what = what
        self.line = line
        self.cure = cure


class ScriptFault(ScriptError):
    """A script ran, and its arguments made it throw, or give something that is not plain data."""


class VerdictlessScript(ScriptFault):
    """A script is valid JavaScript and can give no verdict: promptfoo runs it, and fails every answer."""


class CodeFile(dict[str, str]):
    """A file of code in a suite: ``file`` in the workspace, the ``function`` in it, and the ``code``."""


class ScriptResult(FrozenStruct):
    """What a call gave: ``type`` is JavaScript's (or "null"), ``value`` plain data, ``lines`` the log."""

    value: Any
    type: str
    lines: tuple[str, ...] = ()


class Script(FrozenStruct):
    """JavaScript that can be called: the body of a function of ``parameters``, or a module (None) that exports a function."""

    body: str
    parameters: tuple[str, ...] | None
    function: str = ""
    file: str = ""

    def call(self, *arguments: Any) -> ScriptResult:
        """Call the function.

        Raises ScriptFault if it throws or gives something that is not plain data, and ScriptError if it cannot be loaded,
        lacks a name or exceeds a limit.
        """
        runaways = SCRIPTS.runaways
        if runaways[self] >= SCRIPT_RUNAWAYS:  # one snippet must not take the time of all
            raise ScriptError(
                f"it exceeded a limit {SCRIPT_RUNAWAYS} times in this run, and is not run again"
            )
        try:
            result = evaluate(
                f"{_WORKER}:run_body",
                self.body,
                self.parameters,
                self.function,
                _encode_arguments(arguments),
                account=SCRIPTS,
            )
        except (RunLimitExceeded, TaskRefused) as e:
            raise ScriptError(str(e)) from e
        except LimitExceeded as e:
            runaways[self] += 1
            raise ScriptError(str(e)) from e
        if result.get("exceeded"):
            runaways[self] += 1
        return ScriptResult(_read_value(result), result["type"], tuple(result["lines"]))


class ProgramFunction(FrozenStruct):
    """A function of a file, in Python or for node."""

    program: Program
    default: str = "get_transform"  # the function, if the config names none

    def call(self, *arguments: Any) -> ScriptResult:
        """Call the function. Raises ScriptError, and ScriptFault if its arguments are the reason."""
        try:  # a transform of an answer is part of judging it, so it has the role of a judge
            value = repository_code.call_function(
                self.program, list(arguments), "gate", self.default
            )
        except repository_code.CodeError as e:
            error = ScriptFault if e.has_raised else ScriptError
            raise error(str(e)) from e
        return ScriptResult(value, "nothing" if value is None else type(value).__name__)


class Formula(FrozenStruct):
    """The ``value`` of a derived metric: an expression that gets ``variables`` by name, or a function of all scores (None).

    ``names`` are the scores that it reads; None if it may read any score.
    """

    script: Script
    variables: tuple[str, ...] | None
    names: frozenset[str] | None

    def compute(self, scores: Mapping[str, float], step: JsonObject) -> float:
        """The number for these sums of named scores; true is 1. Raises ScriptError if there is no number."""
        for name in sorted({*(self.variables or ()), *(self.names or ())}):
            if name not in scores:
                raise ScriptError(f"there is no value of the metric `{name}`")
        if self.variables is None:
            result = self.script.call(scores, step)
        else:
            result = self.script.call(scores, *(scores[name] for name in self.variables))
        if result.type not in ("number", "boolean"):
            kinds = {"string": "a text", "undefined": "nothing", "null": "nothing"}
            kind = kinds.get(result.type, f"an {result.type}")
            raise ScriptError(f"it gives {kind}, and a metric is a number")
        number = float(result.value)
        if math.isnan(number):
            raise ScriptError("it gives NaN, as 0 / 0 does")
        if math.isinf(number):
            raise ScriptError("it gives Infinity, as a division by 0 does")
        return number


# --- what each key of a config means; all raise ScriptError for code that cannot be used ----------------------------


def assertion_script(code: Code) -> Script | ProgramFunction:
    """The ``value`` of a ``javascript`` assertion."""
    if isinstance(code, Program):
        return ProgramFunction(code, "get_assert")
    return _make_script(code, ("output", "context"), javascript.assertion_body)


def transform_script(code: Code, parameter: str = "output") -> Script | ProgramFunction:
    """A ``transform`` of a provider, a test or an assertion; ``parameter`` is "vars" for ``transformVars``."""
    if isinstance(code, Program):
        return ProgramFunction(code)
    return _make_script(
        code,
        (parameter, "context"),
        lambda text: text if "\n" in text else f"return {text}",
    )


def response_script(code: Code) -> Script:
    """``transformResponse`` of ``http:``: an expression over ``json``, ``text`` and ``context``, or a function of these."""
    names = ("json", "text", "context")
    return _make_script(
        code,
        names,
        lambda text: f"return {_WITH_OUTPUT}({javascript.value_expression(text, names)});",
        may_be_function=True,
        is_expression=True,
    )


def request_script(code: Code) -> Script:
    """``transformRequest`` of ``http:``: an expression over ``prompt``, ``vars`` and ``context``, a body, or a function of these."""
    names = ("prompt", "vars", "context")
    return _make_script(
        code,
        names,
        lambda text: javascript.request_body(text, names),
        may_be_function=True,
        is_expression=isinstance(code, str) and not javascript.has_return(code),
    )


def metric_formula(code: Code) -> Formula:
    """The ``value`` of a derived metric: an expression over metrics, or a function of ``namedScores`` and ``evalStep``."""
    if not isinstance(code, str) or javascript.is_function(code):
        call = f"({javascript.SCORES}, evalStep);"
        script = _make_script(
            code,
            (javascript.SCORES, "evalStep"),
            lambda text: f"return {javascript.in_brackets(text)}{call}",
            may_be_function=True,
        )
        return Formula(script, None, None)

    if not code.strip():
        raise ScriptError(
            "it is empty", cure="write an expression such as `hits / (hits + misses)`"
        )
    _check_size(code)
    _raise_refusal(javascript.find_unsupported(code))
    global_names = _member_names("globalThis")
    _raise_refusal(javascript.find_misreading(code, global_names, _member_names("Math")))
    variables, members = javascript.score_names(code, global_names)
    parameters = (javascript.SCORES, *sorted(variables))
    script = _make_script(
        code,
        parameters,
        lambda text: f"return {javascript.in_brackets(text)};",
        is_expression=True,
    )
    return Formula(script, parameters[1:], None if members is None else variables | members)


# --- what can be said about code without running it -----------------------------------------------------------------


def show_code(value: Any) -> Any:
    """A value as reports show it: a file of code by its name, with a digest that changes with the code."""
    if isinstance(value, Program):
        return value.shown
    if not isinstance(value, CodeFile):
        return value
    name = value["file"]
    if value["function"]:
        name += ":" + value["function"]
    digest = sha256(value["code"].encode("utf-8", "surrogatepass")).hexdigest()
    return f"file://{name} (SHA-256 {digest[:32]})"


def unsupported_feature(code: str) -> javascript.Refusal | None:
    """What a JavaScript file uses and the engine does not have. None also for a file that cannot be read: that is said later."""
    if len(code) > MAX_SCRIPT:
        what = f"it has more than {MAX_SCRIPT:,} characters"
        return javascript.Refusal(what, 0, "write less code")
    if refusal := javascript.find_unsupported(code):
        return refusal
    try:
        _check_syntax(code, javascript.module_body(code), _MODULE_NAMES)
    except ValueError:
        return None
    return javascript.find_unknown_name(code, _member_names("globalThis").union(_MODULE_NAMES))


def may_mention(code: Code, *names: str) -> bool:
    """Whether a snippet may use any of these names. True for every file, because a file can rename its parameters."""
    indirect = ("arguments", "eval", "Function", "\\u")
    return not isinstance(code, str) or any(name in code for name in (*names, *indirect))


def may_read(code: Code, name: str, *, python: bool = False) -> bool:
    """Whether code may look at this part of its arguments; ``python``: a snippet is Python. A file that hands all on is not found."""
    if isinstance(code, Program):
        return name in code.words
    if not isinstance(code, str):
        return name in code["code"] and javascript.reads_member(code["code"], name)
    if python:
        return name in quoted_words(code)
    if may_mention(code):
        return True
    return "context" in code and javascript.reads_member(code, name, whole="context")


# --- from code to scripts -------------------------------------------------------------------------------------------


def _make_script(
    code: Code,
    parameters: tuple[str, ...],
    make_body: Callable[[str], str],
    *,
    may_be_function: bool = False,
    is_expression: bool = False,
) -> Script:
    """The script of a file, or of a snippet with the function's body that ``make_body`` makes of it. Raises ScriptError.

    ``may_be_function``: ``make_body`` calls a snippet that is a function. ``is_expression``: it puts the snippet into brackets.
    """
    if isinstance(code, Mapping):
        if set(code) != {"file", "function", "code"}:
            raise ScriptError("it is no text", cure="write an expression, or `file://NAME.js`")
        return _make_module(code["code"], code["function"], code["file"])
    if not code.strip():
        raise ScriptError("it is empty", cure="write an expression")
    _check_size(code)
    if not may_be_function and javascript.is_arrow(code):
        raise VerdictlessScript(
            "it is a function that is never called", cure="write its body alone, without `=>`"
        )
    script = Script(make_body(code), parameters)
    _check_snippet(code, script.body, parameters)
    if is_expression:
        # The code's own brackets must be balanced: `a) + (b` is an expression only in round brackets
        in_brackets = javascript.in_brackets(code, "[", "]")
        _check_syntax(code, f"return {in_brackets};", parameters)
    return script


@lru_cache(maxsize=256)
def _make_module(code: str, function: str, file: str) -> Script:
    """The script of a file. Raises ScriptError."""
    _check_size(code)
    _raise_refusal(javascript.find_unsupported(code))
    try:
        script = Script(javascript.module_body(code), None, function, file)
    except ValueError as e:
        raise ScriptError(str(e)) from e
    _check_syntax(code, script.body, _MODULE_NAMES)
    _raise_refusal(
        javascript.find_unknown_name(code, _member_names("globalThis").union(_MODULE_NAMES))
    )
    return script


@lru_cache(maxsize=4096)
def _check_snippet(code: str, body: str, parameters: tuple[str, ...]) -> None:
    """Check ``code`` of a config by the function's body that was made of it. Raises ScriptError and VerdictlessScript."""
    _raise_refusal(javascript.find_unsupported(code))
    if not _check_syntax(code, body, parameters):
        cure = "add `return` before the value: a text of several lines is a function's body"
        if "\n" not in code.strip():
            cure = "end it with the value, such as `const n = output.length; n > 3`"
        raise VerdictlessScript("it returns nothing, whatever the answer is", cure=cure)
    _raise_refusal(
        javascript.find_unknown_name(code, _member_names("globalThis").union(parameters))
    )


def _check_syntax(code: str, body: str, parameters: tuple[str, ...]) -> bool:
    """Whether the body that was made of ``code`` has a ``return``. Raises ScriptError if it is not JavaScript."""
    result = _inspect("check_body", body, parameters)
    if result["type"] != "thrown":
        return bool(result["type"] == "returns")

    cure = "correct it"
    error = ScriptError
    if javascript.TYPESCRIPT.search(code):
        cure = "it looks like TypeScript: remove the types"
    elif "\n" not in code.strip() and _has_top_level_return(code):
        cure = "remove `return`: one line is an expression; or write `const ok = ...;` and `return ok;` on two lines"
        if _inspect("check_body", code, parameters)["type"] == "returns":
            error = VerdictlessScript
    elif "await" in result["text"] or "await" in code:
        cure = "correct it; `await` works only in an `async` function: return the promise"
    line = min(result["line"], code.count("\n") + 1)  # the line break that we add is none of theirs
    raise error(f"it is not JavaScript: {result['text']}", line, cure)


def _has_top_level_return(code: str) -> bool:
    return any(
        token.text == "return" and not token.depth for token in javascript.split_tokens(code)
    )


def _inspect(function: str, *arguments: Any) -> Any:
    """What a function of the worker finds out without running code. Raises ScriptError."""
    try:
        return evaluate(f"{_WORKER}:{function}", *arguments, account=SCRIPTS)
    except (LimitExceeded, TaskRefused) as e:
        raise ScriptError(str(e), cure="simplify it") from e


@cache
def _member_names(owner: Literal["globalThis", "Math"]) -> frozenset[str]:
    """The names of an object's members that every snippet can use. Raises ScriptError."""
    return frozenset(_inspect("member_names", owner))


def _raise_refusal(refusal: javascript.Refusal | None) -> None:
    """Raises ScriptError if there is something to refuse."""
    if refusal:
        raise ScriptError(*refusal)


def _check_size(code: str) -> None:
    """Raises ScriptError."""
    if len(code) > MAX_SCRIPT:
        raise ScriptError(f"it has more than {MAX_SCRIPT:,} characters", cure="write less code")
    if "\0" in code:
        raise ScriptError("it holds a NUL sign", cure="remove it")


# --- arguments and results of a call --------------------------------------------------------------------------------


def _encode_arguments(arguments: Any) -> str:
    """The arguments of a call as a JSON list. Raises ScriptError for values that JSON does not have."""
    try:
        text = json.dumps(arguments, ensure_ascii=False, allow_nan=False, default=str)
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(arguments, default=str)
    except (ValueError, TypeError, RecursionError) as e:
        raise ScriptError(f"its input cannot be written as JSON: {e}") from e
    return text


def _read_value(result: Any) -> Any:
    """The value in the result of a call. Raises ScriptFault and ScriptError."""
    kind = result["type"]
    text = result.get("text", "")
    name = result.get("name", "")
    # Code is at fault that was called, unless it lacks a name. After a limit, the result does not say whether it was called
    error = ScriptError
    if result.get("called") and name != "ReferenceError" and text != _TOO_DEEP:
        error = ScriptFault
    match kind:
        case "thrown":
            message = text or "it throws nothing that can be shown"
            if name and name != "InternalError":
                message = f"it throws {name}: {text}"
            elif text.startswith("throws"):
                message = f"it {text}"
            raise error(message, result.get("line", 0))
        case "pending":
            raise ScriptError("it returns a promise that never resolves")
        case "unreadable":
            raise error(f"what it gives cannot be read: {text}")
        case "symbol" | "bigint":
            raise error(f"it gives a {kind}, which is not plain data")
        case "function":
            raise error("it returns a function that is never called: write its body, or call it")
        case "undefined" | "null":
            return None
        case "number":
            number = float(text)  # also NaN and Infinity
            return int(number) if number.is_integer() and abs(number) < 1e15 else number
    return json.loads(text)
