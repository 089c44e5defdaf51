"""Recorded answers in a plan: which answer belongs to which call, by id or by the request."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

from gradegate.config.context import Context
from gradegate.config.load import SuiteFile
from gradegate.core.policy import Note
from gradegate.errors import ConfigError, Mistake
from gradegate.http.client import Client
from gradegate.planning.identity import UNNAMED, PlannedCall, conversation_id, planned_calls
from gradegate.planning.plan import Job, Plan
from gradegate.planning.planner import make_plan
from gradegate.recordings.parsing.fields import call_identity, turns_of_answer
from gradegate.recordings.parsing.fields import calls_in_turns as calls_of
from gradegate.recordings.parsing.reader import load_recordings
from gradegate.recordings.parsing.recorded_answer import RecordedAnswer, RecordedQuestion
from gradegate.registry import suggest
from gradegate.security.redaction import excerpt
from gradegate.structs import JsonObject, replace
from gradegate.templating import chat_prompt as chat

MOST = 50  # mistakes of one kind that are said
_NEAR = 300  # ids that another is compared with, for a suggestion
_ANEW = "write the cases of this commit with `gradegate cases`, and have them answered"
_BY_ID = (
    "name its call by the id: the prompt of a case that fills in a stored answer is known only then"
)
AGAIN = Note(
    "with recorded answers, `reask: answers` works like `reask: grader`: no new answer can be made"
)


def plan_with_answers(
    suites: list[SuiteFile], context: Context, client: Client
) -> tuple[Plan, frozenset[Path]]:
    """The plan, with the answers that were made elsewhere, and the files that hold these. Raises ConfigError with every mistake.

    Each call has an answer, or None, and no target of it is asked.
    """
    if not context.settings.answers:
        return make_plan(suites, context, client), frozenset()
    recording = load_recordings(context)
    try:
        made = make_plan(suites, context, client)
    except ConfigError as e:
        raise ConfigError(*e.mistakes, *recording.mistakes) from e
    join = _Join(list(planned_calls(made.jobs)))
    for answer in recording.answers:
        join.put(answer)
    mistakes = [*recording.mistakes, *join.mistakes()]
    if mistakes:
        raise ConfigError(*mistakes)
    given: dict[int, list[RecordedAnswer | None]] = defaultdict(list)
    for call in (
        join.calls
    ):  # the repetitions of a job come in their order, and the runs of a case by their numbers
        found = join.found.get(call.id, {})
        given[call.job_index] += [found.get(number) for number in range(1, call.run_count + 1)]
    jobs = tuple(
        replace(job, recorded_answers=tuple(given[place])) if place in given else job
        for place, job in enumerate(made.jobs)
    )
    anew = any(policy.reask == "answers" for policy in made.policies)
    notes = (*made.notes, AGAIN) if anew else made.notes
    return replace(made, jobs=jobs, notes=notes, recorded=recording.digests), recording.opened


class _Join:
    """Gives answers to calls. ``found`` has them by the id of the call and the number of the run."""

    def __init__(self, calls: Sequence[PlannedCall]) -> None:
        self.calls = calls
        self.found: dict[str, dict[int, RecordedAnswer]] = {}
        self._twice: list[Mistake] = []
        self._unknown: list[Mistake] = []
        self._unfit: list[Mistake] = []
        self._by_id = {call.id: call for call in calls}
        self._recalls = any(call.job.recall for call in calls)
        self._by_name: dict[str, str] | None = None  # an id of each case that has a description
        self._index: dict[str, list[PlannedCall]] | None = None
        self._searched: dict[
            tuple[object, ...], tuple[list[PlannedCall], Iterator[PlannedCall] | None]
        ] = {}  # the calls that a question may be

    def put(self, answer: RecordedAnswer) -> None:
        """Give the answer to its call, or note why it has none."""
        if answer.question is not None:
            call = self._find_asked(answer, answer.question)
        else:
            call = self._by_id.get(answer.id)
            if call is None:
                near = self._near(answer.id) if len(self._unknown) < MOST else ""
                what = f"no planned call has the id `{excerpt(answer.id, 80)}`"
                self._unknown.append(Mistake(what, answer.origin, near or _ANEW))
        if call is None:
            return
        found = self.found.setdefault(call.id, {})
        number = answer.run or len(found) + 1
        if number > call.run_count > 1:
            what = f"`{call.id}` has {call.run_count} runs, and this is run {number}"
            cure = "keep as many as there are, in the order in which they were made"
            self._twice.append(Mistake(what, answer.origin, cure))
            return
        if first := found.get(number) or (found.get(1) if call.run_count == 1 else None):
            which = f"run {number} of " if call.run_count > 1 else ""
            what = f"{which}`{call.id}` is answered twice: also at {first.origin}"
            self._twice.append(Mistake(what, answer.origin, "keep one of the answers"))
            return
        found[number] = answer
        if wrong := _unlike(call.job, answer):
            cure = "answer the user's turns as the case has them, in order"
            self._unfit.append(Mistake(wrong, answer.origin, cure))
        elif _contradicts(call.job, answer):
            what = "`tool_calls` and the calls in `messages` are not the same"
            self._unfit.append(Mistake(what, answer.origin, "give the calls once"))

    def mistakes(self) -> Iterator[Mistake]:
        """Of each kind the first ones, and how many there are more."""
        for kind in (self._unknown, self._twice, self._unfit):
            yield from kind[:MOST]
            if len(kind) > MOST:
                what = f"{len(kind) - MOST:,} more answers are mistaken in this way"
                yield Mistake(what, kind[MOST].origin)

    # --- by id ------------------------------------------------------------------------------------------------

    def _near(self, written: str) -> str:
        """The id that was meant: the same apart from spaces and case, of the same case, or a similar one."""
        plain = written.strip().lower()
        if plain in self._by_id:
            return f'did you mean "{plain}"?'
        if self._by_name is None:
            self._by_name = {it.rpartition("-")[0]: it for it in self._by_id}
        same = self._by_name.get(plain.rpartition("-")[0], "")
        if same and not same.startswith(f"{UNNAMED}-"):
            return f"the case has a different id in this plan, such as `{same}`: {_ANEW}"
        return suggest(excerpt(written, 80), islice(self._by_id, _NEAR))

    # --- by what was asked ------------------------------------------------------------------------------------

    def _find_asked(self, answer: RecordedAnswer, question: RecordedQuestion) -> PlannedCall | None:
        if question.session in self._by_id:
            return self._by_id[question.session]
        text = question.text.strip()
        key = text, question.whole, question.provider, repr(sorted(question.vars.items()))
        if key not in self._searched:
            if self._index is None:
                self._index = defaultdict(list)
                for planned in self.calls:
                    for known in _questions(planned.job):
                        self._index[known].append(planned)
            calls = [call for call in self._index.get(text, ()) if _fits(call.job, question)]
            untried = None
            if len({call.job_index for call in calls}) == 1:
                # Of repetitions of one case any does.
                untried = iter([call for call in calls for _ in range(call.run_count)])
            self._searched[key] = calls, untried
        fitting, untried = self._searched[key]
        if call := next(
            (call for call in untried or () if len(self.found.get(call.id, ())) < call.run_count),
            None,
        ):
            return call
        said = excerpt(" ".join(question.text.split()), 60)
        if untried is not None:
            what = f"`{said}` has more answers than planned calls"
            self._twice.append(Mistake(what, answer.origin, "keep as many as are planned"))
        elif fitting:
            ids = ", ".join(f"`{call.id}`" for call in fitting[:3]) + ", ..." * (len(fitting) > 3)
            what = f"the answer to `{said}` fits several planned calls: {ids}"
            self._unknown.append(Mistake(what, answer.origin, "name one of them by its id"))
        else:
            cure = _BY_ID if self._recalls else _ANEW
            self._unknown.append(Mistake(f"no planned call asks `{said}`", answer.origin, cure))
        return None


def _questions(job: Job) -> set[str]:
    """The texts by which an application may know the question: the prompt, its last message, a variable."""
    prompted = chat.parse_chat(job.text) or ()
    variables = (value for value in job.vars.values() if isinstance(value, str))
    texts = (
        job.text,
        *(it.content for it in prompted[-1:]),
        *(it.content for it in job.case.turns[:1]),
        *variables,
    )
    return {text.strip() for text in texts if text.strip()}


def _fits(job: Job, question: RecordedQuestion) -> bool:
    if question.provider not in ("", job.target.name, job.target.id):
        return False
    if not question.whole:
        return True
    # Whoever wrote the answer may have added variables of its own, such as the id of a session.
    same = all(
        name in question.vars and question.vars[name] == value for name, value in job.vars.items()
    )
    return same and job.text.strip() == question.text.strip()


def _contradicts(job: Job, answer: RecordedAnswer) -> bool:
    """Whether calls are told twice, and not the same ones."""
    if answer.tool_calls is None:
        return False
    said = turns_of_answer(answer.messages, "" if job.case.turns else job.text)
    inside = Counter(map(call_identity, calls_of(said)))
    return bool(inside) and inside != Counter(map(call_identity, answer.tool_calls))


def _unlike(job: Job, answer: RecordedAnswer) -> str:
    """Why an answer cannot be one to a conversation of the config, as a sentence; empty where it can."""
    turns = job.case.turns
    if not turns or answer.error:
        return ""
    if not answer.messages:
        what = f"the case is a conversation of {len(turns)} turns, and the answer has no `messages`"
        return what if len(turns) > 1 else ""
    said = [turn.content for turn in answer.messages if turn.role == "user"]
    if said != [turn.content for turn in turns]:
        return "the user says something else in `messages` than in the case"
    roles = [turn.role for turn in answer.messages]
    missing = any(one == other == "user" for one, other in pairwise(roles))
    missing = missing or (roles[-1] == "user" and answer.output is None)
    return "a turn of the user has no answer in `messages`" if missing else ""


# --- what is told of a call -----------------------------------------------------------------------------------


def describe_call(call: PlannedCall) -> JsonObject:
    """What an application needs for an answer, without the id: the prompt or its messages, and what it was made of."""
    job, case = call.job, call.job.case
    messages = chat.parse_chat(job.text)
    # The stored answers of which the prompt or a variable speaks; `{{name}}` stands for each in what is asked.
    options = case.options
    written = [job.prompt.text, options.prefix, options.suffix, *map(str, case.vars.values())]
    names = job.recall.names if job.recall else ()
    uses = [name for name in names if any(name in text for text in written)]
    turns = []
    for turn in case.turns:
        message = _message(turn.role, turn.content)
        if turn.images:
            message["images"] = list(turn.images)
        turns.append(message)
    told = {
        "description": case.description,
        "messages": [it.written or _message(it.role, it.content) for it in messages or ()],
        "prompt": job.text,
        "turns": turns,
        "vars": job.vars,
        "provider": job.target.name,
        "repeat": call.repeat,
        "runs": call.run_count if job.needs else 0,
        "conversation": conversation_id(job),
        "stores": job.stores,
        "uses": uses,
    }
    if messages:
        del told["prompt"]
    always = ("vars", "provider", "repeat", "prompt")
    return {key: value for key, value in told.items() if key in always or value}


def _message(role: str, content: str) -> dict[str, Any]:
    return {"role": role, "content": content}
