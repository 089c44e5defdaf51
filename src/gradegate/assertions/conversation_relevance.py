"""conversation-relevance: whether each answer of a conversation fits the messages before it.

Score: the share of the answers that fit, each judged within a window of messages. As in promptfoo:
https://www.promptfoo.dev/docs/configuration/expected-outputs/model-graded/conversation-relevance/,
``src/external/assertions/deepeval.ts``.
"""

from gradegate.assertions.grading.evaluator import (
    Judge,
    ModelEvaluator,
    Scoring,
    Transcript,
    Verdict,
    assertion,
)
from gradegate.assertions.judge import verdict_forms
from gradegate.assertions.metrics.conversation import WindowSize, exchanges_of
from gradegate.core.conversation import (
    CONVERSATION,
    parse_conversation,
    split_windows,
    window_turns,
)

FORM = verdict_forms.verdict_form(last_line=verdict_forms.YES_NO_LINE)


@assertion("conversation-relevance")
class ConversationRelevance(ModelEvaluator):
    """Every answer in a conversation fits the messages before it."""

    scoring = Scoring(0.5)

    windowSize: WindowSize = 5  # noqa: N815  # the key in the config

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        # As in promptfoo: what `_conversation` holds is the conversation, and an answer that it lacks is none of it.
        turns = parse_conversation(transcript.vars.get(CONVERSATION) or ()) or transcript.turns
        cut = split_windows(exchanges_of(turns), self.windowSize)
        judge = judge.with_graded(*(turn.content for turn in turns))
        messages = [
            [{"role": turn.role, "content": turn.content} for _, turn in window_turns(window)]
            for window in cut
        ]
        judgements = judge.ask_all(
            "conversation-relevance", FORM, ({"messages": window} for window in messages)
        )
        rows = []
        failures = {}  # by the number of the turn
        for window, judgement in zip(cut, judgements, strict=True):
            turn = window[-1][-1].number
            rows.append(judgement.row(turn=turn))
            if judgement.verdict == "no":
                failures[turn] = f"turn {turn}: {judgement.reason}"
        relevant = len(cut) - len(failures)
        summary = f"{relevant} of {len(cut)} answers are relevant"
        reason = "; not ".join([summary, *failures.values()][:6])
        return Verdict(relevant / len(cut), None, reason, {"verdicts": rows}, turns=tuple(failures))
