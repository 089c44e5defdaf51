"""Asks the grading models and reads their replies: the only place where a reply becomes a verdict or an error."""

import hashlib
import json
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from functools import partial
from typing import Any, Self, TypeVar
from weakref import WeakKeyDictionary

from msgspec import Struct, field

from gradegate.assertions.judge import rubric
from gradegate.assertions.judge.form import Form
from gradegate.assertions.judge.prose import is_reasoning
from gradegate.assertions.judge.reply import (
    NEUTRAL,
    OF_PROGRAMS,
    Circumstances,
    NeutralKeys,
    Reading,
    read_constrained_reply,
    read_reply,
)
from gradegate.assertions.judge.rubric import Rubric
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
# The finish reasons of a reply that is whole; whoever names none has not cut it
FINISHED = ("", "stop")
CUT = "length"  # of one that was cut off at its limit of tokens
# A form that the user wrote on the grader: what it asks for was asked for.
OWN_FORMS = (
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
            self._models |= {model} if model else set()


class _SharedAnswers:
    """What the models of a run were asked once, for all cases."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._answers: WeakKeyDictionary[Provider, dict[str, Future[Any]]] = WeakKeyDictionary()

    def answer(self, model: Provider, key: str, ask: Callable[[], T]) -> T:
        """The answer to a question, which the first thread that needs it asks. What fails is asked again by the next."""
        while True:
            with self._lock:
                answers = self._answers.setdefault(model, {})
                is_first = key not in answers
                future = answers.setdefault(key, Future())
            if not is_first:
                try:
                    return future.result()  # type: ignore[no-any-return]
                except CancelledError:  # the thread that asked has failed
                    continue
            try:
                future.set_result(ask())
            finally:
                if not future.done():
                    with self._lock:
                        del answers[key]
                    future.cancel()
            return future.result()  # type: ignore[no-any-return]


_SHARED = _SharedAnswers()


class Judge(Struct, frozen=True):
    """The grading models of one assertion, with its prompts and the test's variables.

    ``models`` has a provider for each kind that the grader needs. ``grader_retries`` is how often an unreadable reply is asked
    for again. ``graded`` is the text under judgement: where it talks like the judge, a verdict counts only alone.
    ``ask_number`` says which time the same thing is asked, from 0: another number is another request.
    """

    models: Mapping[str, Provider] = {}
    rubric: Rubric = field(default_factory=Rubric)
    vars: Variables = {}
    account: JudgeUsage = field(default_factory=JudgeUsage)
    grader_retries: int = 1
    language: str = ""
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

        ``prompt`` names our default prompt; ``step`` the part of ``rubricPrompt`` that replaces it. ``variables`` are
        the built-in ones and win over the test's. Raises NoVerdict after ``grader_retries`` more tries, and ProviderError.
        """
        messages = self.messages(prompt, step, variables)
        if images:
            last = messages[-1]
            messages = (*messages[:-1], replace(last, images=(*last.images, *images)))
        model = self.models["text"]
        # A prompt of the user's may ask for another form; where the endpoint enforces the schema, the schema decides.
        schema = (
            None if step in self.rubric.steps and model.structured != "enforced" else form.schema
        )
        max_tokens = model.reply_tokens
        replies: list[Reply] = []
        off_schema = True  # all of them
        while True:
            request = Request(messages, schema, options or {}, max_tokens=max_tokens)
            try:
                reply, asked = self._complete(request, again=bool(replies))
            except ProviderError as e:
                if e.status in BAD_REQUEST and replies and replies[-1].finish_reason == CUT:
                    raise self._cut_off(replies) from e  # the model takes no higher limit
                raise
            replies.append(reply)
            if reply.finish_reason == CUT:
                self.account.add(Usage(readings=Readings(unreadable=1)))
                if not reply.text.strip() or is_reasoning(reply.text):
                    model.expect_reasoning()
                usual = model.reply_tokens
                if max_tokens is None or usual is None or len(replies) > self.grader_retries:
                    raise self._cut_off(replies)
                max_tokens = max(2 * max_tokens, usual)
                continue
            try:
                reading = self._read(reply, form, step)
            except Unreadable as e:
                off_schema = off_schema and isinstance(e, OffSchema)
                self.account.add(Usage(readings=Readings(unreadable=1)))
                if len(replies) > self.grader_retries:
                    texts = tuple(excerpt(reply.text, SHOWN) for reply in replies)
                    raise NoVerdict(
                        self._missing(e.full_message, replies, off_schema=off_schema), texts
                    ) from e
                named = f"{'keys' if len(form.keys) > 1 else 'key'} {', '.join(f'`{key}`' for key in form.keys)}"
                literally = f"Reply with the JSON object alone, with the {named}; its first character is {{ and its last is }}"
                again = f"That reply cannot be used: {e}. {literally}"
                messages = (
                    *messages,
                    Message("assistant", reply.text or "(empty)"),
                    Message("user", again),
                )
                schema = form.schema
            else:
                self.account.add(Usage(readings=Readings(**{reading.reply_form: 1})))
                asked.keep()
                return reading.value

    def ask_all(
        self, prompt: str, form: Form[T], variables: Iterable[Variables], *, step: str = ""
    ) -> list[T]:
        """As ``ask``, of questions that differ in nothing but their variables (and ``images``), all at once; answers in order."""
        return self.gather(
            *(partial(self.ask, prompt, form, step=step, **these) for these in variables)
        )

    def ask_once(self, prompt: str, form: Form[T], *, step: str = "", **variables: Any) -> T:
        """As ``ask``, for a question that is about no answer: a run asks each model once, and all cases share the reply."""
        judge = replace(self, ask_number=0)
        messages = judge.messages(prompt, step, variables)
        key = hashlib.sha256(repr(messages).encode("utf-8", "backslashreplace")).hexdigest()
        here = current_scope()
        place = CacheScope(here.replies, here.role, ("once", key)) if here else None

        def ask() -> T:
            with within_scope(place):
                return judge.ask(prompt, form, step=step, **variables)

        return _SHARED.answer(self.models["text"], key, ask)

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector for each text. Raises ProviderError, also when vectors are missing or differ in length."""
        model = self.models["embedding"]
        with ProviderCall(model) as asked:
            vectors, usage = model.embed(texts)
        self.account.add(asked.book(usage))
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
        asked.keep()
        return vectors

    def compare(self, expected: str, text: str) -> float:
        """How near two texts are, by a model that gives no vectors. Raises ProviderError."""
        return self._answered("embedding", lambda model: model.compare(expected, text))

    def classify(self, text: str) -> Mapping[str, float]:
        """Labels with scores. Raises ProviderError."""
        return self._answered("classification", lambda model: model.classify(text))

    def moderate(self, text: str, prompt: str) -> Sequence[str]:
        """The categories that a text is flagged for, as the answer to a prompt. Raises ProviderError."""
        return self._answered("moderation", lambda model: model.moderate(text, prompt))

    def _answered(self, kind: str, ask: Callable[[Provider], tuple[T, Usage]]) -> T:
        with ProviderCall(self.models[kind]) as asked:
            answer, usage = ask(self.models[kind])
        self.account.add(asked.book(usage))
        asked.keep()
        return answer

    def gather(self, *questions: Callable[[], T]) -> list[T]:
        """Several questions at once, or one after another where the judge is to ask so; results in order."""
        if self.one_at_a_time:
            return [question() for question in questions]
        return gather_results(
            [with_own_scope(number, question) for number, question in enumerate(questions)]
        )

    def _read(self, reply: Reply, form: Form[T], step: str) -> Reading[T]:
        """What a reply says. Raises Unreadable."""
        if reply.constrained:
            return read_constrained_reply(reply.text, form)
        provider = self.models["text"]
        prompt = [message.content for message in self.rubric.steps.get(step, ())]
        config = provider.spec.config if provider.spec else {}
        own_form = [_SORTED.encode(config[key]) for key in OWN_FORMS if key in config]
        neutral = NEUTRAL if provider.names_model else NEUTRAL | OF_PROGRAMS
        judged = (self.graded, str(self.vars.get("context") or ""))
        return read_reply(
            reply.text,
            form,
            Circumstances(judged, prompt, NeutralKeys(neutral, (*prompt, *own_form))),
        )

    def messages(self, prompt: str, step: str, variables: Variables) -> tuple[Message, ...]:
        """A prompt with its variables filled in. Raises NoVerdict."""
        written = self.rubric.steps.get(step)
        own_vars = {name: with_json_text(value) for name, value in self.vars.items()}
        # It delimits what is graded, and is a hash of it: nobody can write a text that holds its own hash.
        token = hashlib.sha256(
            _SORTED.encode([self.ask_number, variables]).encode("utf-8", "surrogatepass")
        ).hexdigest()[:32]
        available = {**own_vars, "token": token, "language": self.language, **variables}
        try:
            if written is None:
                return rubric.fill(rubric.default(prompt), available, ours=True)
            return rubric.fill(written, available)
        except TemplateError as e:
            raise NoVerdict(f"rubricPrompt cannot be filled in: {e}") from e

    def _complete(self, request: Request, again: bool) -> tuple[Reply, ProviderCall]:
        provider = self.models["text"]
        # What was asked before is never answered from the cache
        with ProviderCall(provider, afresh=again) as asked:
            reply = provider.complete(request)
        spent = asked.book(reply.usage)
        self.account.add(
            replace(spent, reasks=1, readings=Readings(asked_again=1)) if again else spent,
            reply.model,
        )
        if reply.refused:
            raise ProviderError(
                f"{provider.name} declined to grade: {reply.text or 'no reason given'}",
                Trouble.REFUSED,
            )
        if reply.finish_reason not in (*FINISHED, CUT):
            what = f"the reply of {provider.name} is not finished: it ended with `{reply.finish_reason}`"
            raise ProviderError(what, Trouble.TRUNCATED)
        return reply, asked

    def _cut_off(self, replies: Sequence[Reply]) -> ProviderError:
        """The error that the last reply was cut off, with the option that allows a longer one."""
        model = self.models["text"]
        tokens = replies[-1].usage.completion_tokens
        end = f"after {format_count(tokens, 'token')}" if tokens else "at its token limit"
        times = _times(replies)
        return ProviderError(
            f"the reply of {model.name} was cut off {end}{times}; raise `{model.limit_option}` in the config of the grader",
            Trouble.TRUNCATED,
        )

    def _missing(self, what: str, replies: Sequence[Reply], *, off_schema: bool) -> str:
        start = excerpt(" ".join(replies[-1].text.split()), 200)
        times = _times(replies)
        cure = ""
        if off_schema:
            provider = self.models["text"]
            at = f"{provider.name} at {provider.host}" if provider.host else provider.name
            cure = f". {at} ignores the schema: set `structured: requested` on the grader"
        return f"the grader's reply contains no verdict: {what}{times}. It began: {start!r}{cure}"


def _times(replies: Sequence[Reply]) -> str:
    return f" (asked {len(replies)} times)" if len(replies) > 1 else ""
