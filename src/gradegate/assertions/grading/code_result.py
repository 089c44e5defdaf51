"""Turns the value that code of a config returned into a verdict: a boolean, a number, or ``{pass, score, reason}``.

As promptfoo's ``src/assertions/javascript.ts`` and ``scriptResultNormalization.ts`` read it.
"""

import json
import math
from collections.abc import Mapping
from typing import Any

from gradegate.assertions.grading.evaluator import (
    NoVerdict,
    Scoring,
    Transcript,
    Verdict,
    pass_or_fail,
)
from gradegate.core.conversation import IS_DATA, RAW
from gradegate.security.redaction import excerpt
from gradegate.structs import JsonObject

SCORING = Scoring(share=False)  # a number passes above 0, or from the threshold
MAX_COMPONENTS = 100  # that reports show
_MAX_REASON = 2000  # characters
# Keys of a result in Python, with promptfoo's keys. `pass` is a word of Python.
_CAMEL_CASE = {
    "pass_": "pass",
    "named_scores": "namedScores",
    "component_results": "componentResults",
}


def verdict_from_value(value: Any, on_none: str = "it returns nothing: add `return`") -> Verdict:
    """The verdict that a value of JSON's types stands for. Raises NoVerdict, for None with ``on_none``."""
    if value is None:
        raise NoVerdict(on_none)
    if isinstance(value, bool):
        return pass_or_fail(value, f"returned {str(value).lower()}")
    if isinstance(value, int | float):
        return Verdict(_finite_score(value, "the number"), None, f"returned {value:g}")
    if not isinstance(value, Mapping):
        raise NoVerdict(
            f"it returned {describe_value(value)},"
            " and a verdict is a boolean, a number, or `{pass, score, reason}`"
        )

    passed = value.get("pass")
    score = value.get("score")
    reason: Any = value.get("reason")
    wrong = []
    if not isinstance(passed, bool):
        wrong.append("`pass`")
    if not _is_number(score):
        wrong.append("`score`")
    if not isinstance(reason, str):
        wrong.append("`reason`")
    if wrong:
        raise NoVerdict(
            f"it returned an object whose {', '.join(wrong)} cannot be read:"
            " pass is a boolean, score a number, reason a text"
        )
    return Verdict(
        _finite_score(score, "`score`"),
        passed,
        excerpt(reason, _MAX_REASON),
        _evidence(value),
    )


def verdict_from_script_value(value: Any) -> Verdict:
    """As ``verdict_from_value``, for languages with results that promptfoo reads more freely. Raises NoVerdict.

    The value may also be text with a boolean, a number or an object in it, and keys may be in snake_case.
    """
    if isinstance(value, str):
        value = _parse_text(value)
    if isinstance(value, Mapping):
        value = _with_camel_case(value)
    return verdict_from_value(value, "it returned nothing (None)")


def _parse_text(text: str) -> Any:
    """The boolean, number or object that a text stands for. Any other text as it is."""
    word = text.strip().lower()
    if word in ("true", "false"):
        return word == "true"
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return parsed if isinstance(parsed, int | float | dict) else text


def broken_verdict(reason: str) -> Verdict:
    """The verdict if code throws on an answer or returns no verdict: a failure, with ``not-`` too."""
    return Verdict(0.0, False, reason, broken=True)


def describe_value(value: Any) -> str:
    """The kind of a value, for a message; a text is quoted."""
    match value:
        case str():
            start = "the text" if len(value) <= 60 else "a text that starts with"
            return f'{start} "{excerpt(value, 60)}"'
        case list() | tuple():
            return "a list"
        case None:
            return "nothing"
        case bool():
            return str(value).lower()
        case int() | float():
            return "a number"
        case Mapping():
            return "an object"
    return f"a {type(value).__name__}"


def script_context(transcript: Transcript, test: JsonObject, config: JsonObject) -> JsonObject:
    """The ``context`` that code of a config gets, with promptfoo's keys. ``config`` is left out if it is empty.

    ``test`` is the description, metadata and threshold of the test.
    """
    usage = transcript.usage
    metadata = target_metadata(transcript.metadata)
    response: dict[str, Any] = {
        "output": transcript.answer,
        "metadata": metadata,
        "tokenUsage": {
            "total": usage.tokens,
            "prompt": usage.prompt_tokens,
            "completion": usage.completion_tokens,
        },
    }
    if usage.known_cost is not None:
        response["cost"] = usage.known_cost
    response |= {
        "latencyMs": round(usage.seconds * 1000),
        "cached": usage.cached > 0,
        "raw": transcript.metadata.get(RAW, transcript.output),
    }

    context = {
        "prompt": transcript.prompt,
        "vars": transcript.vars,
        "test": {**test, "vars": transcript.vars},
        "provider": {"id": transcript.target, "label": transcript.target},
        "providerResponse": response,
        "metadata": metadata,
    }
    if config:
        context["config"] = config
    return context


def target_metadata(metadata: JsonObject) -> JsonObject:
    """What the target returned besides the answer, without gradegate's own notes."""
    return {name: value for name, value in metadata.items() if name not in (IS_DATA, RAW)}


def _evidence(value: JsonObject) -> JsonObject:
    """The components and named scores of a result. Raises NoVerdict."""
    evidence: dict[str, Any] = {}
    components = value.get("componentResults")
    if components is not None:
        if not isinstance(components, list | tuple):
            raise NoVerdict("it returned an object whose `componentResults` is not a list")
        evidence["components"] = [_component(part) for part in components[:MAX_COMPONENTS]]

    named_scores = value.get("namedScores")
    if named_scores is not None:
        if not isinstance(named_scores, Mapping):
            raise NoVerdict("it returned an object whose `namedScores` is not an object")
        evidence["named_scores"] = {
            str(name): _named_score(str(name), score)
            for name, score in list(named_scores.items())[:MAX_COMPONENTS]
        }
    return evidence


def _component(part: Any) -> JsonObject:
    if not isinstance(part, Mapping):
        raise NoVerdict(
            "it returned an object whose `componentResults` contains something that is not a result"
        )
    verdict = verdict_from_value({"reason": "", **part})
    return {"pass": verdict.passed, "score": verdict.score, "reason": verdict.reason}


def _named_score(name: str, score: Any) -> float:
    if not _is_number(score):
        raise NoVerdict(
            f"it returned an object whose `namedScores` holds no number for `{excerpt(name, 60)}`"
        )
    return _finite_score(score, "a named score")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _finite_score(number: Any, subject: str) -> float:
    """A number as a score. Raises NoVerdict for NaN and infinities; ``subject`` is the number's name in the message."""
    try:
        score = float(number)
    except OverflowError:
        score = math.inf
    if not math.isfinite(score):
        problem = "not a number" if math.isnan(score) else "infinite"
        raise NoVerdict(f"{subject} that it returned is {problem}")
    return score


def _with_camel_case(value: JsonObject) -> JsonObject:
    """A result with promptfoo's keys instead of the same keys in snake_case, at every depth."""
    renamed = {}
    for name, item in value.items():
        camel_name = _CAMEL_CASE.get(name, name)
        # If a result has both names, the one in camelCase wins.
        if camel_name == name or camel_name not in value:
            renamed[camel_name] = item

    components = renamed.get("componentResults")
    if isinstance(components, list | tuple):
        renamed["componentResults"] = [
            _with_camel_case(part) if isinstance(part, Mapping) else part for part in components
        ]
    return renamed
