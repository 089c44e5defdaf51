"""The context that code of a config gets with the answer: promptfoo's ``context``, as plain data, without keys or settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gradegate.values.conversation import IS_DATA, RAW, Transcript


def situation(transcript: Transcript, test: Mapping[str, Any], config: Mapping[str, Any]) -> dict[str, Any]:
    """``prompt``, ``vars``, ``test``, ``provider``, ``providerResponse``, ``metadata`` and, where there is one, ``config``.

    ``test`` is what the test says of itself: description, metadata, threshold.
    """
    usage, metadata = transcript.usage, told(transcript.metadata)
    response = {
        "output": transcript.answer,
        "metadata": metadata,
        "tokenUsage": {"total": usage.tokens, "prompt": usage.prompt_tokens, "completion": usage.completion_tokens},
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


def told(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """What the target returned beside the answer, without what gradegate notes there."""
    return {name: value for name, value in metadata.items() if name not in (IS_DATA, RAW)}
