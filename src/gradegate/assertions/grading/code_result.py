"""The value that code of the config returned, as a verdict: a boolean, a number, or ``{pass, score, reason}`` with more keys.

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
WANTED = "a boolean, a number, or `{pass, score, reason}`"
MAX_COMPONENTS = 100  # that reports show
_LONGEST = 2000  # characters of a reason
_SNAKE = {"pass_": "pass", "named_scores": "namedScores", "component_results": "componentResults"}


def verdict(value: Any, nothing: str = "it returns nothing: add `return`") -> Verdict:
    """The verdict that a value of JavaScript's kinds is; ``nothing`` is said of None. Raises NoVerdict."""
    if value is None:
        raise NoVerdict(nothing)
    if isinstance(value, bool):
        return pass_or_fail(value, f"returned {str(value).lower()}")
    if isinstance(value, int | float):
        return Verdict(_finite(value, "the number"), None, f"returned {value:g}")
    if not isinstance(value, Mapping):
        raise NoVerdict(f"it returned {kind(value)}, and a verdict is {WANTED}")
    passed = value.get("pass")
    score = value.get("score")
    reason = value.get("reason")
    is_score = isinstance(score, int | float) and not isinstance(score, bool)
    fits = {"pass": isinstance(passed, bool), "score": is_score, "reason": isinstance(reason, str)}
    wrong = [name for name in fits if not fits[name]]
    if wrong or not isinstance(score, int | float) or not isinstance(reason, str):
        names = ", ".join(f"`{name}`" for name in wrong)
        raise NoVerdict(
            f"it returned an object whose {names} cannot be read: pass is a boolean, score a number, reason a text"
        )
    return Verdict(
        _finite(score, "`score`"), bool(passed), excerpt(reason, _LONGEST), _evidence(value)
    )


def broken(reason: str) -> Verdict:
    """The verdict where code threw on an answer or gave none: a failure, whichever way the assertion is read."""
    return Verdict(0.0, False, reason, broken=True)


def script_verdict(value: Any) -> Verdict:
    """As ``verdict``, for languages whose results promptfoo reads more freely: also text, and keys in snake_case. Raises NoVerdict."""
    if isinstance(value, str):  # `true`, `false`, a number, or a JSON object
        word = value.strip().lower()
        try:
            read = json.loads(word if word in ("true", "false") else value)
        except (ValueError, RecursionError):
            read = None
        value = read if isinstance(read, int | float | dict) else value
    if isinstance(value, Mapping):
        value = _camel(value)
    return verdict(value, "it returned nothing (None)")


def kind(value: Any) -> str:
    """What a value is, for a message."""
    if isinstance(value, str):
        return f'{"the text" if len(value) <= 60 else "a text that starts with"} "{excerpt(value, 60)}"'
    if isinstance(value, list | tuple):
        return "a list"
    if value is None or isinstance(value, bool):
        return {None: "nothing", True: "true", False: "false"}[value]
    if isinstance(value, int | float):
        return "a number"
    return "an object" if isinstance(value, Mapping) else f"a {type(value).__name__}"


def _evidence(value: JsonObject) -> JsonObject:
    parts = value.get("componentResults")
    scores = value.get("namedScores")
    evidence = dict[str, Any]()
    if parts is not None:
        if not isinstance(parts, list | tuple):
            raise NoVerdict("it returned an object whose `componentResults` is not a list")
        evidence["components"] = []
        for part in parts[:MAX_COMPONENTS]:
            if not isinstance(part, Mapping):
                raise NoVerdict(
                    "it returned an object whose `componentResults` contains something that is not a result"
                )
            part_verdict = verdict({"reason": "", **part})
            evidence["components"].append(
                {
                    "pass": part_verdict.passed,
                    "score": part_verdict.score,
                    "reason": part_verdict.reason,
                }
            )
    if scores is not None:
        if not isinstance(scores, Mapping):
            raise NoVerdict("it returned an object whose `namedScores` is not an object")
        evidence["named_scores"] = {}
        for name, score in list(scores.items())[:MAX_COMPONENTS]:
            if isinstance(score, bool) or not isinstance(score, int | float):
                raise NoVerdict(
                    f"it returned an object whose `namedScores` holds no number for `{excerpt(str(name), 60)}`"
                )
            evidence["named_scores"][str(name)] = _finite(score, "a named score")
    return evidence


def _finite(number: float, what: str) -> float:
    try:
        score = float(number)
    except OverflowError:
        score = math.inf
    if not math.isfinite(score):
        raise NoVerdict(
            f"{what} that it returned is {'not a number' if math.isnan(score) else 'infinite'}"
        )
    return score


def _camel(value: JsonObject) -> JsonObject:
    mapped = {
        _SNAKE.get(name, name) if _SNAKE.get(name) not in value else name: item
        for name, item in value.items()
    }
    parts = mapped.get("componentResults")
    if isinstance(parts, list | tuple):
        mapped["componentResults"] = [
            _camel(part) if isinstance(part, Mapping) else part for part in parts
        ]
    return mapped


def situation(transcript: Transcript, test: JsonObject, config: JsonObject) -> JsonObject:
    """``prompt``, ``vars``, ``test``, ``provider``, ``providerResponse``, ``metadata`` and, where there is one, ``config``.

    ``test`` is what the test says of itself: description, metadata, threshold.
    """
    usage = transcript.usage
    metadata = told(transcript.metadata)
    response = {
        "output": transcript.answer,
        "metadata": metadata,
        "tokenUsage": {
            "total": usage.tokens,
            "prompt": usage.prompt_tokens,
            "completion": usage.completion_tokens,
        },
        **({} if usage.known_cost is None else {"cost": usage.known_cost}),
        "latencyMs": round(usage.seconds * 1000),
        "cached": usage.cached > 0,
        "raw": transcript.metadata.get(RAW, transcript.output),
    }
    return {
        "prompt": transcript.prompt,
        "vars": transcript.vars,
        "test": {**test, "vars": transcript.vars},
        "provider": {"id": transcript.target, "label": transcript.target},
        "providerResponse": response,
        "metadata": metadata,
        **({"config": config} if config else {}),
    }


def told(metadata: JsonObject) -> JsonObject:
    """What the target returned beside the answer, without what gradegate notes there."""
    return {name: value for name, value in metadata.items() if name not in (IS_DATA, RAW)}
