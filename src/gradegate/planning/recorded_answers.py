"""Assigns answers made elsewhere to the calls of a plan, by id or by the question; describes calls for `gradegate cases`."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
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
from gradegate.recordings.parsing.fields import call_identity
from gradegate.recordings.parsing.messages import calls_in_turns, turns_of_answer
from gradegate.recordings.parsing.reader import load_recordings
from gradegate.recordings.parsing.recorded_answer import RecordedAnswer, RecordedQuestion
from gradegate.registry import suggest
from gradegate.security.redaction import excerpt
from gradegate.structs import JsonObject, replace
from gradegate.templating.chat_prompt import parse_chat

_MOST_SHOWN = 50  # mistakes of one kind
_MOST_COMPARED = 300  # ids that are compared with a wrong one, for a suggestion
_ANSWER_AGAIN = "write the cases of this commit with `gradegate cases`, and have them answered"
_NAME_BY_ID = (
    "name its call by the id: the prompt of a case that fills in a stored answer is known only then"
)
REASK_NOTE = Note(
    "with recorded answers, `reask: answers` works like `reask: grader`: no new answer can be made"
)


def plan_with_answers(
    suite_files: list[SuiteFile], context: Context, client: Client
) -> tuple[Plan, frozenset[Path]]:
    """The plan, with the answers made elsewhere if there are any, and the files that contain them.

    Each call has an answer, or None; no target is asked. Raises ConfigError with every mistake.
    """
    if not context.settings.answers:
        return make_plan(suite_files, context, client), frozenset()
    recording = load_recordings(context)
    try:
        plan = make_plan(suite_files, context, client)
    except ConfigError as e:
        raise ConfigError(*e.mistakes, *recording.mistakes) from e

    assignment = _Assignment(list(planned_calls(plan.jobs)))
    for answer in recording.answers:
        assignment.add(answer)
    mistakes = [*recording.mistakes, *assignment.mistakes()]
    if mistakes:
        raise ConfigError(*mistakes)

    # The calls of a job are its repetitions in order; a case with runs is one call, with an answer for each run.
    answers_of: dict[int, list[RecordedAnswer | None]] = defaultdict(list)
    for call in assignment.calls:
        answers = assignment.answers.get(call.id, {})
        for number in range(1, call.run_count + 1):
            answers_of[call.job_index].append(answers.get(number))
    jobs = list(plan.jobs)
    for index, job_answers in answers_of.items():
        jobs[index] = replace(jobs[index], recorded_answers=tuple(job_answers))

    notes = plan.notes
    if any(policy.reask == "answers" for policy in plan.policies):
        notes += (REASK_NOTE,)
    plan = replace(plan, jobs=tuple(jobs), notes=notes, recorded=recording.digests)
    return plan, recording.opened


class _Assignment:
    """Gives each answer to its call. ``answers`` has them by the id of the call and the number of the run."""

    def __init__(self, calls: Sequence[PlannedCall]) -> None:
        self.calls = calls
        self.answers: dict[str, dict[int, RecordedAnswer]] = {}
        self._unknown: list[Mistake] = []  # answers without a call
        self._surplus: list[Mistake] = []  # several answers to one call
        self._unfit: list[Mistake] = []  # answers that do not fit their case
        self._calls_by_id = {call.id: call for call in calls}
        self._has_recalls = any(call.job.recall for call in calls)
        self._candidates: dict[tuple[object, ...], _Candidates] = {}

    def add(self, answer: RecordedAnswer) -> None:
        """Give an answer to its call, or note why it has none."""
        if answer.question is not None:
            call = self._find_by_question(answer, answer.question)
        else:
            call = self._find_by_id(answer)
        if call is None:
            return

        answers = self.answers.setdefault(call.id, {})
        number = answer.run or len(answers) + 1
        has_runs = call.run_count > 1
        if has_runs and number > call.run_count:
            what = f"`{call.id}` has {call.run_count} runs, and this is run {number}"
            cure = "keep as many as there are, in the order in which they were made"
            self._surplus.append(Mistake(what, answer.origin, cure))
            return
        earlier = answers.get(number)
        if earlier is None and call.run_count == 1:
            earlier = answers.get(1)
        if earlier:
            run = f"run {number} of " if has_runs else ""
            what = f"{run}`{call.id}` is answered twice: also at {earlier.origin}"
            self._surplus.append(Mistake(what, answer.origin, "keep one of the answers"))
            return
        answers[number] = answer

        problem = _conversation_problem(call.job, answer)
        if problem:
            cure = "answer the user's turns as the case has them, in order"
            self._unfit.append(Mistake(problem, answer.origin, cure))
        elif _has_contradictory_calls(call.job, answer):
            what = "`tool_calls` and the calls in `messages` are not the same"
            self._unfit.append(Mistake(what, answer.origin, "give the calls once"))

    def mistakes(self) -> Iterator[Mistake]:
        """The first mistakes of each kind, and how many more there are."""
        for kind in (self._unknown, self._surplus, self._unfit):
            yield from kind[:_MOST_SHOWN]
            if len(kind) > _MOST_SHOWN:
                what = f"{len(kind) - _MOST_SHOWN:,} more answers are mistaken in this way"
                yield Mistake(what, kind[_MOST_SHOWN].origin)

    # --- by id ------------------------------------------------------------------------------------------------

    def _find_by_id(self, answer: RecordedAnswer) -> PlannedCall | None:
        call = self._calls_by_id.get(answer.id)
        if call is None:
            what = f"no planned call has the id `{excerpt(answer.id, 80)}`"
            cure = ""
            if len(self._unknown) < _MOST_SHOWN:
                cure = self._suggest_id(answer.id)
            self._unknown.append(Mistake(what, answer.origin, cure or _ANSWER_AGAIN))
        return call

    def _suggest_id(self, written: str) -> str:
        """The id that was meant: equal apart from spaces and case, of the same case, or similar."""
        folded = written.strip().lower()
        if folded in self._calls_by_id:
            return f'did you mean "{folded}"?'
        same_case = self._ids_by_case.get(folded.rpartition("-")[0], "")
        if same_case and not same_case.startswith(f"{UNNAMED}-"):
            text = f"the case has a different id in this plan, such as `{same_case}`"
            return f"{text}: {_ANSWER_AGAIN}"
        return suggest(excerpt(written, 80), islice(self._calls_by_id, _MOST_COMPARED))

    @cached_property
    def _ids_by_case(self) -> dict[str, str]:
        """The last id of each case, by the beginning of its ids."""
        return {call_id.rpartition("-")[0]: call_id for call_id in self._calls_by_id}

    # --- by the question --------------------------------------------------------------------------------------

    def _find_by_question(
        self, answer: RecordedAnswer, question: RecordedQuestion
    ) -> PlannedCall | None:
        if question.session in self._calls_by_id:
            return self._calls_by_id[question.session]
        candidates = self._find_candidates(question)
        for call in candidates.open_calls:
            if len(self.answers.get(call.id, ())) < call.run_count:
                return call
        self._note_without_call(answer, question, candidates)
        return None

    def _find_candidates(self, question: RecordedQuestion) -> "_Candidates":
        """The calls that a question may mean. Equal questions share them."""
        text = question.text.strip()
        variables = repr(sorted(question.vars.items()))
        key = (text, question.whole, question.provider, variables)
        if key not in self._candidates:
            calls = self._calls_by_text.get(text, ())
            fitting = [call for call in calls if _fits_question(call.job, question)]
            self._candidates[key] = _Candidates(fitting)
        return self._candidates[key]

    def _note_without_call(
        self, answer: RecordedAnswer, question: RecordedQuestion, candidates: "_Candidates"
    ) -> None:
        """Note why an answer has no call: no call asks the question, all are answered, or several may be meant."""
        shown = excerpt(" ".join(question.text.split()), 60)
        if not candidates.calls:
            what = f"no planned call asks `{shown}`"
            cure = _NAME_BY_ID if self._has_recalls else _ANSWER_AGAIN
            self._unknown.append(Mistake(what, answer.origin, cure))
        elif candidates.is_one_case:
            what = f"`{shown}` has more answers than planned calls"
            self._surplus.append(Mistake(what, answer.origin, "keep as many as are planned"))
        else:
            ids = ", ".join(f"`{call.id}`" for call in candidates.calls[:3])
            if len(candidates.calls) > 3:
                ids += ", ..."
            what = f"the answer to `{shown}` fits several planned calls: {ids}"
            self._unknown.append(Mistake(what, answer.origin, "name one of them by its id"))

    @cached_property
    def _calls_by_text(self) -> dict[str, list[PlannedCall]]:
        """The calls by each text that may identify their question."""
        calls = defaultdict(list)
        for call in self.calls:
            for text in _question_texts(call.job):
                calls[text].append(call)
        return calls


class _Candidates:
    """The calls that a question may mean."""

    def __init__(self, calls: list[PlannedCall]) -> None:
        self.calls = calls
        # Repetitions of one case are interchangeable. Of several cases, nobody knows which is meant.
        self.is_one_case = len({call.job_index for call in calls}) == 1
        # A call is listed once for each of its runs.
        open_calls = []
        if self.is_one_case:
            for call in calls:
                open_calls += [call] * call.run_count
        # The iterator never returns to a call that was used up.
        self.open_calls = iter(open_calls)


def _question_texts(job: Job) -> set[str]:
    """The texts by which an application may know the question: the prompt, its last message, a variable."""
    texts = [job.text]
    messages = parse_chat(job.text)
    if messages:
        texts.append(messages[-1].content)
    if job.case.turns:
        texts.append(job.case.turns[0].content)
    texts += [value for value in job.vars.values() if isinstance(value, str)]
    stripped = {text.strip() for text in texts}
    stripped.discard("")
    return stripped


def _fits_question(job: Job, question: RecordedQuestion) -> bool:
    if question.provider not in ("", job.target.name, job.target.id):
        return False
    if not question.whole:
        return True
    # The recording may have more variables, such as the id of a session.
    for name, value in job.vars.items():
        if name not in question.vars or question.vars[name] != value:
            return False
    return job.text.strip() == question.text.strip()


def _has_contradictory_calls(job: Job, answer: RecordedAnswer) -> bool:
    """Whether an answer gives its tool calls twice, and not the same ones."""
    if answer.tool_calls is None:
        return False
    turns = turns_of_answer(answer.messages, "" if job.case.turns else job.text)
    calls_in_messages = Counter(map(call_identity, calls_in_turns(turns)))
    if not calls_in_messages:
        return False
    return calls_in_messages != Counter(map(call_identity, answer.tool_calls))


def _conversation_problem(job: Job, answer: RecordedAnswer) -> str | None:
    """Why an answer does not fit the conversation of its case, as a sentence."""
    turns = job.case.turns
    if not turns or answer.error:
        return None
    if not answer.messages:
        if len(turns) == 1:
            return None
        return f"the case is a conversation of {len(turns)} turns, and the answer has no `messages`"
    user_texts = [turn.content for turn in answer.messages if turn.role == "user"]
    if user_texts != [turn.content for turn in turns]:
        return "the user says something else in `messages` than in the case"
    roles = [turn.role for turn in answer.messages]
    ends_unanswered = roles[-1] == "user" and answer.output is None
    if ends_unanswered or ("user", "user") in pairwise(roles):
        return "a turn of the user has no answer in `messages`"
    return None


# --- what an application needs for an answer --------------------------------------------------------------------


def describe_call(call: PlannedCall) -> JsonObject:
    """What an application needs to answer a call, apart from its id: the prompt or its messages, and the variables."""
    job = call.job
    case = job.case
    options = case.options

    used_names = []
    if job.recall:
        # Stored answers are written as `{{name}}` in the prompt and in the variables.
        variables = [str(value) for value in case.vars.values()]
        source = "\n".join([job.prompt.text, options.prefix, options.suffix, *variables])
        used_names = [name for name in job.recall.names if name in source]

    turns = []
    for turn in case.turns:
        message = _message(turn.role, turn.content)
        if turn.images:
            message["images"] = list(turn.images)
        turns.append(message)
    messages = []
    for chat_message in parse_chat(job.text) or ():
        plain = _message(chat_message.role, chat_message.content)
        messages.append(chat_message.written or plain)

    description: dict[str, Any] = {
        "description": case.description,
        "messages": messages,
        "prompt": job.text,
        "turns": turns,
        "vars": job.vars,
        "provider": job.target.name,
        "repeat": call.repeat,
        "runs": call.run_count if job.needs else 0,
        "conversation": conversation_id(job),
        "stores": job.stores,
        "uses": used_names,
    }
    if messages:
        del description["prompt"]
    # These are written even if they are empty.
    always = ("vars", "provider", "repeat", "prompt")
    return {key: value for key, value in description.items() if key in always or value}


def _message(role: str, content: str) -> dict[str, Any]:
    return {"role": role, "content": content}
