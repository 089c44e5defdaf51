"""file://x.py, python:, file://x.js, javascript: and exec:, code of the repository that answers; it runs only with `--allow-exec`.

What it is called with and what it returns is promptfoo's (https://www.promptfoo.dev/docs/providers/python/ and
https://www.promptfoo.dev/docs/providers/custom-script/): ``call_api(prompt, options, context)`` gives ``{output}`` or
``{error}``; a command gets the same three as its last arguments, and its standard output is the answer.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gradegate.core.conversation import IS_DATA, RAW, Reply, Request
from gradegate.core.usage import Usage
from gradegate.errors import ConfigError, ProviderError
from gradegate.files.documents import to_json
from gradegate.providers.api.chat_api import members
from gradegate.providers.api.json_http import own_prompt, plain_messages
from gradegate.providers.api.prices import is_number
from gradegate.providers.api.provider import PROVIDERS, Labels, Provider, Setting, Vectors
from gradegate.sandbox import repository_code
from gradegate.sandbox.program import command_digest, split_command
from gradegate.sandbox.repository_code import (
    USE_ANSWERS,
    CodeError,
    CodePlace,
    check_allowed,
    load_program,
)
from gradegate.security.redaction import excerpt

_LONGEST, _WORD = 2000, 100  # characters of an error, and of a reason why an answer ended
_METADATA = 200_000  # characters: reports keep them
_OWN = ("finish_reason", "refused", IS_DATA, RAW)  # of an answer's metadata: said elsewhere


class _Code(Provider):
    """What answers by code of the repository."""

    sees = True
    names_model = False
    replies_from = "program"
    rates = None  # what the code spends is not known before it says so
    repeatable = False  # what an application answers may change with its code

    def __init__(self, setting: Setting) -> None:
        self.name = setting.spec.name
        self._config = setting.config
        self._options = {
            "id": setting.spec.id,
            "label": setting.spec.label,
            "config": dict(self._config),
        }
        most = setting.config.get("timeout")
        workers = setting.config.get("workers", 0)
        if most is not None and (not is_number(most) or most <= 0):
            raise setting.mistake(
                f"`timeout` of `{setting.spec.id}` is no time", "give milliseconds"
            )
        if not isinstance(workers, int) or isinstance(workers, bool) or not 0 <= workers <= 100:
            raise setting.mistake(
                f"`workers` of `{setting.spec.id}` is not a number of processes", "give e.g. 2"
            )
        self._seconds = None if most is None else float(most) / 1000
        self._workers = workers
        # The variables that the config gives the code: literals, and what the workflow named.
        spec = setting.spec
        env = setting.env
        named = repository_code.current_policy().exec_env
        given = {
            name: text
            for name, text in env.literals.items()
            if name in spec.env or not env.drawn.get(name, frozenset()) - named
        }
        reads = frozenset(use.variable for use in spec.reads)
        shown = reads.union(*(env.drawn.get(name, frozenset()) for name in given)) - named
        for name in sorted(shown):
            cure = f"name it: <--exec-env {name}>"
            raise ConfigError.at(
                f"`{spec.name}` would show {name} to code of the repository", spec.origin, cure
            )
        self._env = tuple(sorted(given.items()))

    def complete(self, request: Request) -> Reply:
        """Raises ProviderError."""
        # The prompt as text; a conversation, or a grader's messages, as JSON of the messages.
        written = [
            said.written or {"role": said.role, "content": said.content}
            for said in request.messages
        ]
        prompt = own_prompt(request)
        if prompt is None:
            prompt = to_json(written)
        context = {
            "vars": request.vars,
            "prompt": {"raw": prompt, "label": ""},
            "test": {"vars": request.vars},
            "messages": plain_messages(request),
        }
        said, seconds = self._timed(lambda: self._asked([prompt, self._options, context]))
        output = self._result(said, "output")
        if output is None:
            raise ProviderError(f"{self.name} answered with nothing (`output` is None)")
        metadata = said.get("metadata")
        if metadata and len(to_json(metadata)) > _METADATA:
            raise ProviderError(
                f"{self.name} returned more than {_METADATA:,} characters of metadata"
            )
        kept = {str(name): value for name, value in members(metadata).items() if name not in _OWN}
        kept |= {} if isinstance(output, str) else {IS_DATA: True}
        text = output if isinstance(output, str) else to_json(output)
        ended = said.get("finishReason")
        return Reply(
            text,
            _usage(said, seconds),
            excerpt(ended, _WORD) if isinstance(ended, str) else "",
            metadata=kept,
        )

    def _timed(self, ask: Callable[[], Any]) -> tuple[Any, float]:
        """What the code says to one call of the budget, and the seconds that it took. Raises ProviderError."""
        self.budget.reserve_call()
        started = time.monotonic()
        try:
            return ask(), time.monotonic() - started
        except CodeError as e:
            raise ProviderError(f"{self.name}: {e}") from e

    def _asked(self, arguments: list[Any]) -> Any:
        """What the code makes of prompt, options and context. Raises Failed."""
        raise NotImplementedError

    def _result(self, said: Any, key: str) -> Any:
        """What stands under a key of a result. Raises ProviderError where it is an error, or holds neither."""
        if isinstance(said, Mapping) and said.get("error"):
            raise ProviderError(f"{self.name}: {excerpt(str(said['error']), _LONGEST)}")
        if not isinstance(said, Mapping) or key not in said:
            raise ProviderError(f"{self.name} returned no dict with `{key}` or `error`")
        return said[key]


# What promptfoo calls of an object of the class that a file of JavaScript exports.
_METHODS = {
    "call_api": "callApi",
    "call_embedding_api": "callEmbeddingApi",
    "call_classification_api": "callClassificationApi",
}


@PROVIDERS.register("file", "python", "javascript")
class File(_Code):
    """A function of a Python file, ``call_api`` where none is named, or a class of a JavaScript file with ``callApi``."""

    kinds = ("text", "embedding", "classification")

    def __init__(self, setting: Setting) -> None:
        spec = setting.spec
        assert setting.workspace is not None
        self._program = load_program(
            spec.id, setting.workspace, setting.folder, spec.origin, USE_ANSWERS
        )
        if self._program.file.function and not self._program.file.is_python:
            cure = "leave the function out, and export the class by default"
            raise setting.mistake(
                f"`{spec.id}` names a function, and a provider in JavaScript is a class with `callApi`",
                cure,
            )
        self.code = self._program.digest
        super().__init__(setting)

    def embed(self, texts: Sequence[str]) -> tuple[Vectors, Usage]:
        """``call_embedding_api(prompt, options)`` gives ``{embedding}``, for one text after another. Raises ProviderError."""
        vectors = []
        usage = Usage()
        for text in texts:
            vector, spent = self._called("call_embedding_api", text, "embedding")
            if not isinstance(vector, list) or not all(is_number(part) for part in vector):
                raise ProviderError(
                    f"{self.name} returned an `embedding` that is not a list of numbers"
                )
            vectors.append([float(part) for part in vector])
            usage += spent
        return vectors, usage

    def classify(self, text: str) -> tuple[Labels, Usage]:
        """``call_classification_api(prompt, options)`` gives ``{classification}``. Raises ProviderError."""
        labels, usage = self._called("call_classification_api", text, "classification")
        if not isinstance(labels, Mapping) or not all(
            is_number(score) for score in labels.values()
        ):
            raise ProviderError(f"{self.name} returned a `classification` without scores")
        return {str(label): float(score) for label, score in labels.items()}, usage

    def _called(self, function: str, text: str, key: str) -> tuple[Any, Usage]:
        said, seconds = self._timed(lambda: self._call(function, [text, self._options]))
        return self._result(said, key), _usage(said, seconds)

    def _asked(self, arguments: list[Any]) -> Any:
        return self._call("call_api", arguments)

    def _call(self, default: str, arguments: list[Any]) -> Any:
        python = str(self._config.get("pythonExecutable") or "")
        about: dict[str, Any] = {
            "python": python,
            "env": self._env,
            "seconds": self._seconds,
            "workers": self._workers,
        }
        role = "gate" if self.judges else "target"
        if not self._program.file.is_python:
            prompt, options, *context = arguments
            arguments = [prompt, *context]
            default = _METHODS[default]
            about["more"] = {"kind": "provide", "options": options}
        return repository_code.call_function(self._program, arguments, role, default, **about)


@PROVIDERS.register("exec")
class Command(_Code):
    """A program whose standard output is the answer."""

    def __init__(self, setting: Setting) -> None:
        spec = setting.spec
        check_allowed(f"`{spec.id}`", spec.origin, USE_ANSWERS)
        self._words = split_command(setting.model)
        if not self._words:
            raise ConfigError.at(
                "`exec:` names no program", spec.origin, "write e.g. exec: node answer.js"
            )
        assert setting.workspace is not None
        self.code = command_digest(self._words, setting.workspace, setting.folder, spec.origin)
        super().__init__(setting)
        self._place = CodePlace(setting.folder, "target", spec.id, env=self._env)
        self._workers = self._workers or max(
            repository_code.current_policy().calls, os.cpu_count() or 1
        )

    def _asked(self, arguments: list[Any]) -> Any:
        words = [
            *self._words,
            *(part if isinstance(part, str) else to_json(part) for part in arguments),
        ]
        output = repository_code.ask_worker(
            self._place, {"kind": "command", "argv": words}, self._seconds, self._workers
        )
        return {"output": output}


def _usage(said: Any, seconds: float) -> Usage:
    """What the code says that it spent; the price of what it does not say is not known."""
    said = members(said)
    token_usage = members(said.get("tokenUsage"))
    completion = _count(token_usage.get("completion"))
    total = _count(token_usage.get("total"))
    prompt = _count(token_usage.get("prompt")) or max(0, total - completion)
    cost: Any = said.get("cost")
    price = float(cost) if is_number(cost) and cost >= 0 else None
    return Usage(1, prompt, completion, price or 0.0, int(price is None), seconds)


def _count(value: Any) -> int:
    return int(value) if is_number(value) and 0 <= value < 1e12 else 0
