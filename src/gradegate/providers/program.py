"""file://x.py, python:, file://x.js, javascript: and exec:, code of the repository that answers; it runs only with `--allow-exec`.

What it is called with and what it returns is promptfoo's (https://www.promptfoo.dev/docs/providers/python/ and
https://www.promptfoo.dev/docs/providers/custom-script/): ``call_api(prompt, options, context)`` gives ``{output}`` or
``{error}``; a command gets the same three as its last arguments, and its standard output is the answer.
"""

import os
import time
from collections.abc import Callable, Sequence
from typing import Any

from gradegate.core.conversation import IS_DATA, RAW, Reply, Request
from gradegate.core.usage import Usage
from gradegate.errors import ConfigError, ProviderError
from gradegate.files.documents import to_json
from gradegate.providers.api.chat_api import as_object
from gradegate.providers.api.json_http import plain_messages, prompt_text
from gradegate.providers.api.prices import is_number
from gradegate.providers.api.provider import (
    PROVIDERS,
    LabelScores,
    Provider,
    ProviderSetup,
    Vectors,
)
from gradegate.sandbox import repository_code
from gradegate.sandbox.code_run import CodePlace
from gradegate.sandbox.program import command_digest, split_command
from gradegate.sandbox.repository_code import (
    USE_ANSWERS,
    CodeError,
    check_allowed,
    load_program,
)
from gradegate.security.redaction import excerpt

# Characters
_MAX_ERROR = 2000
_MAX_FINISH_REASON = 100
_MAX_METADATA = 200_000  # reports keep the metadata
# Keys of an answer's metadata that gradegate itself sets
_RESERVED = ("finish_reason", "refused", IS_DATA, RAW)


class _CodeProvider(Provider):
    """Code of the repository that answers."""

    takes_images = True
    names_model = False
    replies_from = "program"
    rates = None  # what the code spends is known only afterwards
    is_repeatable = False  # its answers may change with its code

    def __init__(self, setup: ProviderSetup) -> None:
        self.name = setup.spec.name
        self._config = setup.config
        self._options = {
            "id": setup.spec.id,
            "label": setup.spec.label,
            "config": dict(self._config),
        }
        timeout = setup.config.get("timeout")
        workers = setup.config.get("workers", 0)
        if timeout is not None and (not is_number(timeout) or timeout <= 0):
            raise setup.mistake(f"`timeout` of `{setup.spec.id}` is no time", "give milliseconds")
        if not isinstance(workers, int) or isinstance(workers, bool) or not 0 <= workers <= 100:
            raise setup.mistake(
                f"`workers` of `{setup.spec.id}` is not a number of processes", "give e.g. 2"
            )
        self._seconds = None if timeout is None else float(timeout) / 1000
        self._workers = workers
        self._env = _code_variables(setup)

    def complete(self, request: Request) -> Reply:
        """Raises ProviderError."""
        # The prompt as text; a conversation, or a grader's messages, as JSON of the messages.
        prompt = prompt_text(request)
        if prompt is None:
            prompt = to_json(
                [
                    message.written or {"role": message.role, "content": message.content}
                    for message in request.messages
                ]
            )
        context = {
            "vars": request.vars,
            "prompt": {"raw": prompt, "label": ""},
            "test": {"vars": request.vars},
            "messages": plain_messages(request),
        }
        arguments = [prompt, self._options, context]
        result, seconds = self._run_timed(lambda: self._run_code(arguments))

        output = self._value_in(result, "output")
        if output is None:
            raise ProviderError(f"{self.name} answered with nothing (`output` is None)")
        returned_metadata = result.get("metadata")
        if returned_metadata and len(to_json(returned_metadata)) > _MAX_METADATA:
            raise ProviderError(
                f"{self.name} returned more than {_MAX_METADATA:,} characters of metadata"
            )
        metadata = {
            str(name): value
            for name, value in as_object(returned_metadata).items()
            if name not in _RESERVED
        }
        if not isinstance(output, str):
            metadata[IS_DATA] = True
            output = to_json(output)
        finish = result.get("finishReason")
        finish = excerpt(finish, _MAX_FINISH_REASON) if isinstance(finish, str) else ""
        return Reply(output, _usage_of(result, seconds), finish, metadata=metadata)

    def _run_timed(self, run: Callable[[], Any]) -> tuple[Any, float]:
        """Run code for one call of the budget; returns its result and the seconds that it took. Raises ProviderError."""
        self.budget.reserve_call()
        started = time.monotonic()
        try:
            return run(), time.monotonic() - started
        except CodeError as e:
            raise ProviderError(f"{self.name}: {e}") from e

    def _run_code(self, arguments: list[Any]) -> Any:
        """Run the code with prompt, options and context. Raises CodeError."""
        raise NotImplementedError

    def _value_in(self, result: Any, key: str) -> Any:
        """The value under a key of a result. Raises ProviderError for an error, and for neither."""
        if isinstance(result, dict):
            if result.get("error"):
                raise ProviderError(f"{self.name}: {excerpt(str(result['error']), _MAX_ERROR)}")
            if key in result:
                return result[key]
        raise ProviderError(f"{self.name} returned no dict with `{key}` or `error`")


def _code_variables(setup: ProviderSetup) -> tuple[tuple[str, str], ...]:
    """The variables that the config gives the code: literals, and what the workflow allows.

    Raises ConfigError if the code would see any other variable of the environment.
    """
    spec = setup.spec
    allowed = repository_code.current_policy().exec_env
    variables = {}
    workflow_variables = {use.variable for use in spec.reads}  # that the code would see
    for name, text in setup.env.literals.items():
        # A literal may be made of variables of the workflow. If they are not allowed, a literal of the whole config is left out,
        # and one of this provider is a mistake.
        sources = setup.env.drawn.get(name, frozenset())
        if name in spec.env or sources <= allowed:
            variables[name] = text
            workflow_variables |= sources

    not_allowed = sorted(workflow_variables - allowed)
    if not_allowed:
        raise ConfigError.at(
            f"`{spec.name}` would show {not_allowed[0]} to code of the repository",
            spec.origin,
            f"name it: <--exec-env {not_allowed[0]}>",
        )
    return tuple(sorted(variables.items()))


# Methods of the class that a JavaScript file exports, by the function that promptfoo calls in Python.
_METHODS = {
    "call_api": "callApi",
    "call_embedding_api": "callEmbeddingApi",
    "call_classification_api": "callClassificationApi",
}


@PROVIDERS.register("file", "python", "javascript")
class File(_CodeProvider):
    """A function of a Python file, ``call_api`` where none is named, or a class of a JavaScript file with ``callApi``."""

    kinds = ("text", "embedding", "classification")

    def __init__(self, setup: ProviderSetup) -> None:
        spec = setup.spec
        assert setup.workspace is not None
        self._program = load_program(
            spec.id, setup.workspace, setup.folder, spec.origin, USE_ANSWERS
        )
        if self._program.file.function and not self._program.file.is_python:
            cure = "leave the function out, and export the class by default"
            raise setup.mistake(
                f"`{spec.id}` names a function, and a provider in JavaScript is a class with `callApi`",
                cure,
            )
        self.code = self._program.digest
        super().__init__(setup)

    def embed(self, texts: Sequence[str]) -> tuple[Vectors, Usage]:
        """``call_embedding_api(prompt, options)`` gives ``{embedding}``, for one text after another. Raises ProviderError."""
        vectors = []
        usage = Usage()
        for text in texts:
            vector, text_usage = self._run_for_text("call_embedding_api", text, "embedding")
            if not isinstance(vector, list) or not all(is_number(part) for part in vector):
                raise ProviderError(
                    f"{self.name} returned an `embedding` that is not a list of numbers"
                )
            vectors.append([float(number) for number in vector])
            usage += text_usage
        return vectors, usage

    def classify(self, text: str) -> tuple[LabelScores, Usage]:
        """``call_classification_api(prompt, options)`` gives ``{classification}``. Raises ProviderError."""
        labels, usage = self._run_for_text("call_classification_api", text, "classification")
        if not isinstance(labels, dict) or not all(is_number(score) for score in labels.values()):
            raise ProviderError(f"{self.name} returned a `classification` without scores")
        return {str(label): float(score) for label, score in labels.items()}, usage

    def _run_for_text(self, function: str, text: str, key: str) -> tuple[Any, Usage]:
        """The value under a key of what a function returns for a text, and its usage. Raises ProviderError."""
        arguments = [text, self._options]
        result, seconds = self._run_timed(lambda: self._call_function(function, arguments))
        return self._value_in(result, key), _usage_of(result, seconds)

    def _run_code(self, arguments: list[Any]) -> Any:
        return self._call_function("call_api", arguments)

    def _call_function(self, function: str, arguments: list[Any]) -> Any:
        """Call a function of the file, named as in Python, with prompt, options and maybe context. Raises CodeError.

        In JavaScript, the options go to the constructor of the class, and the method gets the other arguments.
        """
        javascript_request = None
        if not self._program.file.is_python:
            function = _METHODS[function]
            prompt, options, *context = arguments
            arguments = [prompt, *context]
            javascript_request = {"kind": "provide", "options": options}
        return repository_code.call_function(
            self._program,
            arguments,
            "gate" if self.is_grader else "target",
            function,
            python=str(self._config.get("pythonExecutable") or ""),
            env=self._env,
            seconds=self._seconds,
            workers=self._workers,
            more=javascript_request,
        )


@PROVIDERS.register("exec")
class Command(_CodeProvider):
    """A program whose standard output is the answer."""

    def __init__(self, setup: ProviderSetup) -> None:
        spec = setup.spec
        check_allowed(f"`{spec.id}`", spec.origin, USE_ANSWERS)
        self._words = split_command(setup.model)
        if not self._words:
            raise ConfigError.at(
                "`exec:` names no program", spec.origin, "write e.g. exec: node answer.js"
            )
        assert setup.workspace is not None
        self.code = command_digest(self._words, setup.workspace, setup.folder, spec.origin)
        super().__init__(setup)
        self._place = CodePlace(setup.folder, "target", spec.id, env=self._env)
        self._workers = self._workers or max(
            repository_code.current_policy().calls, os.cpu_count() or 1
        )

    def _run_code(self, arguments: list[Any]) -> Any:
        """Run the program with prompt, options and context as its last words. Raises CodeError."""
        words = [part if isinstance(part, str) else to_json(part) for part in arguments]
        request = {"kind": "command", "argv": [*self._words, *words]}
        output = repository_code.ask_worker(self._place, request, self._seconds, self._workers)
        return {"output": output}


def _usage_of(result: Any, seconds: float) -> Usage:
    """The usage that the code names in ``tokenUsage`` and ``cost``. Without a cost, the price is not known."""
    result = as_object(result)
    tokens = as_object(result.get("tokenUsage"))
    answer_tokens = _count(tokens.get("completion"))
    prompt_tokens = _count(tokens.get("prompt"))
    if not prompt_tokens:
        prompt_tokens = max(0, _count(tokens.get("total")) - answer_tokens)
    cost = result.get("cost")
    if is_number(cost) and cost >= 0:
        return Usage(1, prompt_tokens, answer_tokens, float(cost), 0, seconds)
    return Usage(1, prompt_tokens, answer_tokens, 0.0, 1, seconds)


def _count(value: Any) -> int:
    """A number of tokens; 0 for anything that is not one."""
    return int(value) if is_number(value) and 0 <= value < 1e12 else 0
