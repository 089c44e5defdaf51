"""Asks the grading models and reads their replies: the only place where a reply becomes a verdict or an error."""

import hashlib
import json
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, Self, TypeVar

from msgspec import Struct, field

from gradegate.assertions.judge import rubric
from gradegate.assertions.judge.form import Form
from gradegate.assertions.judge.neutral_keys import NEUTRAL, OF_PROGRAMS, NeutralKeys
from gradegate.assertions.judge.peeling import is_reasoning
from gradegate.assertions.judge.reply import (
    Circumstances,
    Reading,
    ReplyForm,
    read_constrained_reply,
    read_reply,
)
from gradegate.assertions.judge.rubric import Rubric
from gradegate.assertions.judge.shared_answers import SharedAnswers
from gradegate.core.conversation import Message, Reply, Request, Variables
from gradegate.core.numbers import format_count
from gradegate.core.usage import NO_USAGE, Readings, Usage
from gradegate.errors import NoVerdict, OffSchema, ProviderError, Trouble, Unreadable
from gradegate.http.crew import gather_results
from gradegate.providers.api.chat_api import BAD_REQUEST
from gradegate.providers.api.provider import Provider
from gradegate.providers.cache.call import (
    CacheScope,
    ProviderCall,
    current_scope,
    with_own_scope,
    within_scope,
)
from gradegate.security.redaction import excerpt
from gradegate.structs import JsonObject, replace
from gradegate.templating.template import TemplateError, with_json_text

T = TypeVar("T")
# The finish reasons of a whole reply. A provider that names no reason has not cut the reply.
FINISHED = ("", "stop")
CUT = "length"  # of a reply that was cut off at its token limit
# Options of a grader that declare a form for its replies: their keys are asked for.
USER_FORMS = (
    "response_format",
    "responseSchema",
    "responseJsonSchema",
    "format",
    "output_format",
    "output_config",
)
_SORTED = json.JSONEncoder(sort_keys=True, default=str)
_MODELS = 250  # characters of the names of all that graded
SHOWN = 4000  # characters of an unreadable reply that are kept as evidence


class JudgeUsage:
    """Adds up what the calls of one grade cost, from any number of threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.total = NO_USAGE
        self._models: set[str] = set()

    @property
    def model(self) -> str:
        """The model that graded, as its replies name it; several in the order of their names."""
        return excerpt(", ".join(sorted(self._models)), _MODELS)

    def add(self, usage: Usage, model: str = "") -> None:
        """Add the usage of one call, and note who replied."""
        with self._lock:
            self.total = self.total + usage
            if model:
                self._models.add(model)


class Judge(Struct, frozen=True):
    """The grading models of one assertion, with the prompts of the user and the variables of the test.

    ``models`` has a provider for each kind that the evaluator needs, such as "text" or "embedding". ``grader_retries`` is
    how often an unreadable reply is asked for again. ``graded`` is the text under judgement. If that text talks like the
    judge, only a verdict with nothing next to it counts. ``ask_number`` counts the asks of the same question from 0, because
    another number makes another request. With ``one_at_a_time``, several questions are asked one after another.
    """

    models: Mapping[str, Provider] = {}
    rubric: Rubric = field(default_factory=Rubric)
    vars: Variables = {}
    account: JudgeUsage = field(default_factory=JudgeUsage)
    grader_retries: int = 1
    language: str = ""  # of the reasons; empty leaves it to the model
    graded: str = ""
    ask_number: int = 0
    one_at_a_time: bool = False

    def with_graded(self, *texts: str) -> Self:
        """The same judge with these texts under judgement."""
        return replace(self, graded="\n".join(texts))

    def ask(
        self,
        prompt: str,
        form: Form[T],
        *,
        step: str = "",
        options: JsonObject | None = None,
        images: tuple[str, ...] = (),
        **variables: Any,
    ) -> T:
        """Ask the text model and return what ``form`` reads in its reply.

        ``prompt`` names our default prompt, and ``step`` the part of ``rubricPrompt`` that replaces it. ``variables`` are
        the built-in variables. They win over the test's. Raises ProviderError, and NoVerdict after ``grader_retries`` more tries.
        """
        model = self.models["text"]
        *earlier_messages, last_message = self.messages(prompt, step, variables)
        last_message = replace(last_message, images=(*last_message.images, *images))

        # A prompt of the user may ask for another form. If the endpoint enforces the schema, the schema decides.
        asks_by_schema = step not in self.rubric.steps or model.structured == "enforced"
        request = Request(
            (*earlier_messages, last_message),
            form.schema if asks_by_schema else None,
            options or {},
            max_tokens=model.reply_tokens,
        )

        replies: list[Reply] = []
        problems: list[Unreadable] = []  # of the replies that are not cut off

        for _ in range(self.grader_retries + 1):
            try:
                reply, call = self._complete(request, is_reask=bool(replies))
            except ProviderError as e:
                if e.status in BAD_REQUEST and replies and replies[-1].finish_reason == CUT:
                    raise self._cut_off_error(replies) from e  # the model takes no higher limit
                raise
            replies.append(reply)

            # A reply that was cut off is asked for again with a higher limit.
            if reply.finish_reason == CUT:
                self._count_reading("unreadable")
                higher_limit = self._higher_limit(request, reply)
                if higher_limit is None:
                    break
                request = replace(request, max_tokens=higher_limit)
                continue

            # An unreadable reply is asked for again with what is wrong with it.
            try:
                reading = self._read(reply, form, step)
            except Unreadable as e:
                self._count_reading("unreadable")
                problems.append(e)
                request = _correct_request(request, reply, e, form)
                continue

            self._count_reading(reading.reply_form)
            call.keep()
            return reading.value

        if replies[-1].finish_reason == CUT:
            raise self._cut_off_error(replies)
        texts = tuple(excerpt(reply.text, SHOWN) for reply in replies)
        raise NoVerdict(self._no_verdict_message(problems, replies), texts) from problems[-1]

    def ask_all(
        self,
        prompt: str,
        form: Form[T],
        variables: Iterable[Variables],
        *,
        step: str = "",
    ) -> list[T]:
        """Ask several questions at once, as ``ask`` does. They differ in their variables and ``images``. Answers in order."""
        ask = partial(self.ask, prompt, form, step=step)
        questions = [partial(ask, **values) for values in variables]
        return self.gather(*questions)

    def ask_once(
        self,
        prompt: str,
        form: Form[T],
        *,
        step: str = "",
        **variables: Any,
    ) -> T:
        """Ask a question that depends on no answer, as ``ask`` does. A run asks each model once, and all cases share the reply."""
        # All cases must send the same request.
        judge = replace(self, ask_number=0)
        messages = repr(judge.messages(prompt, step, variables))
        key = hashlib.sha256(messages.encode("utf-8", "backslashreplace")).hexdigest()

        # The kept reply must not depend on the case that happens to ask first.
        scope = current_scope()
        if scope:
            scope = CacheScope(scope.replies, scope.role, ("once", key))

        def ask() -> T:
            with within_scope(scope):
                return judge.ask(prompt, form, step=step, **variables)

        return _SHARED_ANSWERS.answer(self.models["text"], key, ask)

    def gather(
        self,
        *questions: Callable[[], T],
    ) -> list[T]:
        """Ask several questions at once, or one after another with ``one_at_a_time``; results in order."""
        if self.one_at_a_time:
            return [question() for question in questions]
        return gather_results(
            [with_own_scope(number, question) for number, question in enumerate(questions)]
        )

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector for each text. Raises ProviderError, also when vectors are missing or differ in length."""
        model = self.models["embedding"]
        with ProviderCall(model) as call:
            vectors, usage = model.embed(texts)
        self.account.add(call.book(usage))
        if len(vectors) != len(texts):
            raise ProviderError(
                f"{model.name} gave {format_count(len(vectors), 'vector')} for {format_count(len(texts), 'text')}",
                Trouble.MALFORMED,
            )
        if len({len(vector) for vector in vectors}) > 1:
            lengths = ", ".join(str(len(vector)) for vector in vectors)
            raise ProviderError(
                f"{model.name} gave vectors of different lengths: {lengths}", Trouble.MALFORMED
            )
        call.keep()
        return vectors

    def compare(self, expected: str, text: str) -> float:
        """How near two texts are, by a model that gives no vectors. Raises ProviderError."""
        return self._ask_model("embedding", lambda model: model.compare(expected, text))

    def classify(self, text: str) -> Mapping[str, float]:
        """Labels with scores. Raises ProviderError."""
        return self._ask_model("classification", lambda model: model.classify(text))

    def moderate(self, text: str, prompt: str) -> Sequence[str]:
        """The categories that a text is flagged for, as the answer to a prompt. Raises ProviderError."""
        return self._ask_model("moderation", lambda model: model.moderate(text, prompt))

    def _ask_model(
        self,
        kind: str,
        ask: Callable[[Provider], tuple[T, Usage]],
    ) -> T:
        """Ask the model of a kind, and note the usage."""
        with ProviderCall(self.models[kind]) as call:
            answer, usage = ask(self.models[kind])
        self.account.add(call.book(usage))
        call.keep()
        return answer

    def messages(
        self,
        prompt: str,
        step: str,
        variables: Variables,
    ) -> tuple[Message, ...]:
        """Fill in the variables of a prompt. Raises NoVerdict."""
        # The token delimits what is graded. It is a hash of it, because nobody can write a text that contains its own hash.
        graded = _SORTED.encode([self.ask_number, variables])
        token = hashlib.sha256(graded.encode("utf-8", "surrogatepass")).hexdigest()[:32]

        test_variables = {name: with_json_text(value) for name, value in self.vars.items()}
        available = {**test_variables, "token": token, "language": self.language, **variables}
        user_prompt = self.rubric.steps.get(step)
        try:
            if user_prompt is None:
                return rubric.fill_default_prompt(prompt, available)
            return rubric.fill_prompt(user_prompt, available)
        except TemplateError as e:
            raise NoVerdict(f"rubricPrompt cannot be filled in: {e}") from e

    def _complete(
        self,
        request: Request,
        *,
        is_reask: bool,
    ) -> tuple[Reply, ProviderCall]:
        """Send a request to the text model. Raises ProviderError if the model refuses, or gives half a reply."""
        provider = self.models["text"]
        # A re-ask is never answered from the cache.
        with ProviderCall(provider, afresh=is_reask) as call:
            reply = provider.complete(request)
        usage = call.book(reply.usage)
        if is_reask:
            usage = replace(usage, reasks=1, readings=Readings(asked_again=1))
        self.account.add(usage, reply.model)
        if reply.refused:
            raise ProviderError(
                f"{provider.name} declined to grade: {reply.text or 'no reason given'}",
                Trouble.REFUSED,
            )
        if reply.finish_reason not in (*FINISHED, CUT):
            raise ProviderError(
                f"the reply of {provider.name} is not finished: it ended with `{reply.finish_reason}`",
                Trouble.TRUNCATED,
            )
        return reply, call

    def _higher_limit(self, request: Request, reply: Reply) -> int | None:
        """The token limit for another try after a reply that was cut off. None if the request had no limit."""
        model = self.models["text"]
        if not reply.text.strip() or is_reasoning(reply.text):
            model.expect_reasoning()
        usual_limit = model.reply_tokens
        if request.max_tokens is None or usual_limit is None:
            return None
        return max(2 * request.max_tokens, usual_limit)

    def _read(
        self,
        reply: Reply,
        form: Form[T],
        step: str,
    ) -> Reading[T]:
        """Read a finished reply. Raises Unreadable."""
        if reply.constrained:
            return read_constrained_reply(reply.text, form)

        # Who replied decides which other keys the reply may have: a program may give more than a model.
        model = self.models["text"]
        keys = NEUTRAL if model.names_model else NEUTRAL | OF_PROGRAMS

        # The reply may also have the keys that the user asks for: in a prompt, or in an option of the grader.
        prompt_texts = [message.content for message in self.rubric.steps.get(step, ())]
        config = model.spec.config if model.spec else {}
        option_texts = [_SORTED.encode(config[option]) for option in USER_FORMS if option in config]

        circumstances = Circumstances(
            judged=(self.graded, str(self.vars.get("context") or "")),
            prompt=prompt_texts,
            keys=NeutralKeys(keys, (*prompt_texts, *option_texts)),
        )
        return read_reply(reply.text, form, circumstances)

    def _count_reading(self, reading: ReplyForm | Literal["unreadable"]) -> None:
        """Count a reply by its form."""
        self.account.add(Usage(readings=Readings(**{reading: 1})))

    def _cut_off_error(self, replies: Sequence[Reply]) -> ProviderError:
        """The error that the last reply was cut off, with the option that allows a longer one."""
        model = self.models["text"]
        tokens = replies[-1].usage.completion_tokens
        end = f"after {format_count(tokens, 'token')}" if tokens else "at its token limit"
        return ProviderError(
            f"the reply of {model.name} was cut off {end}{_times_asked(replies)};"
            f" raise `{model.limit_option}` in the config of the grader",
            Trouble.TRUNCATED,
        )

    def _no_verdict_message(
        self,
        problems: Sequence[Unreadable],
        replies: Sequence[Reply],
    ) -> str:
        """The message for replies that contain no verdict, with the cure if there is one."""
        cure = ""
        if all(isinstance(problem, OffSchema) for problem in problems):
            model = self.models["text"]
            name = f"{model.name} at {model.host}" if model.host else model.name
            cure = f". {name} ignores the schema: set `structured: requested` on the grader"

        words = replies[-1].text.split()
        start = excerpt(" ".join(words), 200)
        return (
            f"the grader's reply contains no verdict: {problems[-1].full_message}"
            f"{_times_asked(replies)}. It began: {start!r}{cure}"
        )


_SHARED_ANSWERS = SharedAnswers()


def _correct_request(
    request: Request,
    reply: Reply,
    problem: Unreadable,
    form: Form[T],
) -> Request:
    """The request after an unreadable reply: with that reply, with what is wrong with it, and always with the schema."""
    noun = "keys" if len(form.keys) > 1 else "key"
    names = ", ".join(f"`{key}`" for key in form.keys)
    correction = (
        f"That reply cannot be used: {problem}. Reply with the JSON object alone,"
        f" with the {noun} {names}; its first character is {{ and its last is }}"
    )
    messages = (
        *request.messages,
        Message("assistant", reply.text or "(empty)"),
        Message("user", correction),
    )
    return replace(request, messages=messages, schema=form.schema)


def _times_asked(replies: Sequence[Reply]) -> str:
    """A clause that says how many replies there were. Empty for one reply."""
    return f" (asked {len(replies)} times)" if len(replies) > 1 else ""
