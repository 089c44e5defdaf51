"""Code of a config that makes one value of others: a snippet or file of JavaScript, or a program with ``--allow-exec``.

JavaScript is parsed where the config is, and called with plain data in the worker (``docs/javascript.md``). A call gets a
context of its own, so nothing of one answer is left for the next.
"""

import json
import math
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from hashlib import sha256
from typing import Any

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

_HERE = "gradegate.templating.quickjs_worker"
_TOO_DEEP = "Maximum call stack size exceeded"  # the engine's words for a limit that code can run into by itself
_MODULE = ("module", "exports")
# Plain data lacks members that are undefined: without this, `{output: json.absent}` would be an answer without `output`.
_WITH_OUTPUT = (
    "((value) => value && typeof value === 'object' && 'output' in value"
    " && value.output === undefined && !value.error ? null : value)"
)
COUNT = "__count"  # the name under which derived metrics find the number of answers


class ScriptError(ValueError):
    """A script cannot be used or gave no value; ``line`` is one of it (0: unknown), ``cure`` what to do."""

    def __init__(self, what: str, line: int = 0, cure: str = "correct it") -> None:
        super().__init__(f"{what} (line {line})" if line else what)
        self.what = what
        self.line = line
        self.cure = cure


class ScriptFault(ScriptError):
    """A script ran, and what it was given made it throw, or give what is no plain data."""


class VerdictlessScript(ScriptFault):
    """A script is right JavaScript, and gives no verdict whatever it is given: promptfoo runs it, and fails every answer."""


class CodeFile(dict[str, str]):
    """A file of code as suites hold it, read: ``file`` in the workspace, the ``function`` of it, and the ``code``."""


class ScriptResult(FrozenStruct):
    """What a call gave: ``type`` is JavaScript's (or "null"), ``value`` plain data, ``lines`` what was logged."""

    value: Any
    type: str
    lines: tuple[str, ...] = ()


class Script(FrozenStruct):
    """What can be called: the body of a function of ``parameters``, or a module (None) that exports a function."""

    body: str
    parameters: tuple[str, ...] | None
    function: str = ""
    file: str = ""

    def call(self, *arguments: Any) -> ScriptResult:
        """Raises Fault for what throws or is no plain data; ScriptError for what cannot be loaded, lacks a name or exceeds a limit."""
        names = None if self.parameters is None else list(self.parameters)
        if SCRIPTS.runaways[self] >= SCRIPT_RUNAWAYS:  # one snippet must not take the time of all
            raise ScriptError(
                f"it exceeded a limit {SCRIPT_RUNAWAYS} times in this run, and is not run again"
            )
        try:
            said = evaluate(
                f"{_HERE}:run_body",
                self.body,
                names,
                self.function,
                _json(arguments),
                account=SCRIPTS,
            )
        except (LimitExceeded, TaskRefused) as e:
            if isinstance(e, LimitExceeded) and not isinstance(e, RunLimitExceeded):
                SCRIPTS.runaways[self] += 1
            raise ScriptError(str(e)) from e
        if said.get("exceeded"):
            SCRIPTS.runaways[self] += 1
        return ScriptResult(_value(said), said["type"], tuple(said["lines"]))


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


class ProgramFunction(FrozenStruct):
    """A function of a file, in Python or for node."""

    program: Program
    default: str = "get_transform"  # the function, where none is named

    def call(self, *arguments: Any) -> ScriptResult:
        """Raises ScriptError for what raises, takes too long or is no plain data: Fault where the arguments made it so."""
        try:  # what makes another answer of an answer is part of judging it
            value = repository_code.call_function(
                self.program, list(arguments), "gate", self.default
            )
        except repository_code.CodeError as e:
            raise (ScriptFault if e.has_raised else ScriptError)(str(e)) from e
        return ScriptResult(value, "nothing" if value is None else type(value).__name__)


# --- what each key of a config means; all raise ScriptError for what cannot be used ---------------------------------


def assertion_script(code: Code) -> Script | ProgramFunction:
    """The ``value`` of a ``javascript`` assertion."""
    if isinstance(code, Program):
        return ProgramFunction(code, "get_assert")
    return _script(code, ("output", "context"), javascript.assertion_body)


def transform_script(code: Code, parameter: str = "output") -> Script | ProgramFunction:
    """A ``transform`` of a provider, a test or an assertion; ``parameter`` is "vars" for ``transformVars``."""
    if isinstance(code, Program):
        return ProgramFunction(code)
    return _script(
        code, (parameter, "context"), lambda text: text if "\n" in text else f"return {text}"
    )


def response_script(code: Code) -> Script:
    """``transformResponse`` of ``http:``: an expression over ``json``, ``text`` and ``context``, or a function of these."""
    names = ("json", "text", "context")
    return _script(
        code,
        names,
        lambda text: f"return {_WITH_OUTPUT}({javascript.value_expression(text, names)});",
        may_be_function=True,
        is_expression=True,
    )


def request_script(code: Code) -> Script:
    """``transformRequest`` of ``http:``: an expression over ``prompt``, ``vars`` and ``context``, a body, or a function of these."""
    names = ("prompt", "vars", "context")
    return _script(
        code,
        names,
        lambda text: javascript.request_body(text, names),
        may_be_function=True,
        is_expression=isinstance(code, str) and not javascript.has_return(code),
    )


def function_script(code: Code, *parameters: str) -> Script:
    """A function that is called with these, or a file that exports one."""
    call = f"({', '.join(parameters)});"
    return _script(
        code,
        parameters,
        lambda text: f"return {javascript.in_brackets(text)}{call}",
        may_be_function=True,
    )


def metric_formula(code: Code) -> Formula:
    """The ``value`` of a derived metric: an expression over metrics, or a function of ``namedScores`` and ``evalStep``."""
    if not isinstance(code, str) or javascript.is_function(code):
        return Formula(function_script(code, javascript.SCORES, "evalStep"), None, None)
    if not code.strip():
        raise ScriptError(
            "it is empty", cure="write an expression such as `hits / (hits + misses)`"
        )
    _check_size(code)
    _refuse(javascript.find_unsupported(code))
    _refuse(javascript.find_misreading(code, _globals(), _members_of_math()))
    variables, members = javascript.score_names(code, _globals())
    parameters = (javascript.SCORES, *sorted(variables))
    script = _script(
        code,
        parameters,
        lambda text: f"return {javascript.in_brackets(text)};",
        is_expression=True,
    )
    return Formula(script, parameters[1:], None if members is None else variables | members)


def show_code(value: Any) -> Any:
    """A value as reports show it: of a file of code its name, with a digest that tells another code."""
    if isinstance(value, Program):
        return value.shown
    if not isinstance(value, CodeFile):
        return value
    name = value["file"] + (":" + value["function"] if value["function"] else "")
    return f"file://{name} (SHA-256 {sha256(value['code'].encode('utf-8', 'surrogatepass')).hexdigest()[:32]})"


def unsupported_feature(code: str) -> javascript.Refusal | None:
    """What a file of JavaScript uses and the engine does not have; of one that cannot be read something else is said later."""
    if len(code) > MAX_SCRIPT or (found := javascript.find_unsupported(code)):
        if len(code) <= MAX_SCRIPT:
            return found
        return (f"it has more than {MAX_SCRIPT:,} characters", 0, "write less code")
    try:
        _parsed(javascript.module_body(code), _MODULE, code)
    except ValueError:
        return None
    return javascript.find_unknown_name(code, _globals().union(_MODULE))


def may_mention(code: Code, *names: str) -> bool:
    """Whether a snippet may look at any of these names; a file may, by a name of its own."""
    indirect = ("arguments", "eval", "Function", "\\u")
    return not isinstance(code, str) or any(name in code for name in (*names, *indirect))


def may_read(code: Code, name: str, *, python: bool = False) -> bool:
    """Whether code, a snippet of ``python`` too, may look at that part of what it is told. A file that hands it all on is not known to."""
    if isinstance(code, Program):
        return name in code.words
    if not isinstance(code, str):
        return name in code["code"] and javascript.reads_member(code["code"], name)
    if python:
        return name in quoted_words(code)
    return may_mention(code) or (
        "context" in code and javascript.reads_member(code, name, whole="context")
    )


def _script(
    code: Code,
    parameters: tuple[str, ...],
    rule: Callable[[str], str],
    *,
    may_be_function: bool = False,
    is_expression: bool = False,
) -> Script:
    if isinstance(code, Mapping):
        if set(code) != {"file", "function", "code"}:
            raise ScriptError("it is no text", cure="write an expression, or `file://NAME.js`")
        return _module(code["code"], code["function"], code["file"])
    if not code.strip():
        raise ScriptError("it is empty", cure="write an expression")
    _check_size(code)
    if not may_be_function and javascript.is_arrow(code):
        raise VerdictlessScript(
            "it is a function that is never called", cure="write its body alone, without `=>`"
        )
    script = Script(rule(code), parameters)
    _check(script.body, parameters, code)
    # Whose own brackets must be balanced: `a) + (b` is an expression only in ours
    if is_expression:
        _parsed(f"return {javascript.in_brackets(code, '[', ']')};", parameters, code)
    return script


@lru_cache(maxsize=256)
def _module(code: str, function: str, file: str) -> Script:
    _check_size(code)
    _refuse(javascript.find_unsupported(code))
    try:
        script = Script(javascript.module_body(code), None, function, file)
    except ValueError as e:
        raise ScriptError(str(e)) from e
    _parsed(script.body, _MODULE, code)
    _refuse(javascript.find_unknown_name(code, _globals().union(_MODULE)))
    return script


@lru_cache(maxsize=4096)
def _check(text: str, parameters: tuple[str, ...], code: str) -> None:
    _refuse(javascript.find_unsupported(code))
    if _parsed(text, parameters, code) == "returns nothing":
        cure = "add `return` before the value: a text of several lines is a function's body"
        if "\n" not in code.strip():
            cure = "end it with the value, such as `const n = output.length; n > 3`"
        raise VerdictlessScript("it returns nothing, whatever the answer is", cure=cure)
    _refuse(javascript.find_unknown_name(code, _globals().union(parameters)))


def _looked_at(function: str, *arguments: Any) -> Any:
    """What the worker finds without running anything. Raises ScriptError."""
    try:
        return evaluate(f"{_HERE}:{function}", *arguments, account=SCRIPTS)
    except (LimitExceeded, TaskRefused) as e:
        raise ScriptError(str(e), cure="simplify it") from e


def _parsed(text: str, parameters: tuple[str, ...], code: str) -> str:
    """What ``quickjs_worker.check`` says of the body that was made of ``code``. Raises ScriptError where it is not JavaScript."""
    said = _looked_at("check_body", text, parameters)
    if said["type"] != "thrown":
        return str(said["type"])
    cure = "correct it"
    kind = ScriptError
    if javascript.TYPESCRIPT.search(code):
        cure = "it looks like TypeScript: remove the types"
    elif "\n" not in code.strip() and any(
        token.text == "return" and not token.depth for token in javascript.split_tokens(code)
    ):
        cure = "remove `return`: one line is an expression; or write `const ok = ...;` and `return ok;` on two lines"
        kind = (
            VerdictlessScript
            if _looked_at("check_body", code, parameters)["type"] == "returns"
            else kind
        )
    elif "await" in said["text"] or "await" in code:
        cure = "correct it; `await` works only in an `async` function: return the promise"
    line = min(said["line"], code.count("\n") + 1)  # the line break that we add is none of theirs
    raise kind(f"it is not JavaScript: {said['text']}", line, cure)


@cache
def _globals() -> frozenset[str]:
    """The names that every snippet can use. Raises ScriptError."""
    return frozenset(_looked_at("member_names", "globalThis"))


@cache
def _members_of_math() -> frozenset[str]:
    """The names of the functions and constants of ``Math``. Raises ScriptError."""
    return frozenset(_looked_at("member_names", "Math"))


def _refuse(found: javascript.Refusal | None) -> None:
    if found:
        raise ScriptError(*found)


def _check_size(code: str) -> None:
    if len(code) > MAX_SCRIPT:
        raise ScriptError(f"it has more than {MAX_SCRIPT:,} characters", cure="write less code")
    if "\0" in code:
        raise ScriptError("it holds a NUL sign", cure="remove it")


def _json(arguments: Any) -> str:
    """Raises ScriptError for what JSON does not have."""
    try:
        text = json.dumps(arguments, ensure_ascii=False, allow_nan=False, default=str)
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(arguments, default=str)
    except (ValueError, TypeError, RecursionError) as e:
        raise ScriptError(f"its input cannot be written as JSON: {e}") from e
    return text


def _value(said: Any) -> Any:
    kind = said["type"]
    text = said.get("text", "")
    name = said.get("name", "")
    # Nothing is said of a call where a limit was hit
    own = said.get("called") and name != "ReferenceError" and text != _TOO_DEEP
    problem = ScriptFault if own else ScriptError
    if kind == "thrown":
        words = (
            f"throws {name}: {text}"
            if name and name != "InternalError"
            else text or "throws nothing that can be shown"
        )
        raise problem(f"it {words}" if words.startswith("throws") else words, said.get("line", 0))
    if kind == "pending":
        raise ScriptError("it returns a promise that never resolves")
    if kind == "unreadable":
        raise problem(f"what it gives cannot be read: {text}")
    if kind in ("symbol", "bigint"):
        raise problem(f"it gives a {kind}, which is not plain data")
    if kind == "function":
        raise problem("it returns a function that is never called: write its body, or call it")
    if kind in ("undefined", "null"):
        return None
    if kind != "number":
        return json.loads(text)
    number = float(text)  # also of NaN and Infinity
    return int(number) if number.is_integer() and abs(number) < 1e15 else number
