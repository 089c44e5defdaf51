"""conversation-relevance: whether each answer of a conversation fits the messages before it.

Score: the share of the answers that fit, each judged within a window of messages. As in promptfoo:
https://www.promptfoo.dev/docs/configuration/expected-outputs/model-graded/conversation-relevance/,
``src/external/assertions/deepeval.ts``.
"""

from functools import partial

from gradegate.assertions.grading.evaluator import (
    Judge,
    ModelEvaluator,
    NoVerdict,
    Scoring,
    Transcript,
    Verdict,
    assertion,
)
from gradegate.assertions.judge import verdict_forms
from gradegate.assertions.metrics.conversation import WindowSize
from gradegate.core.conversation import CONVERSATION, exchanges, flat, told, windows
from gradegate.structs import replace

FORM = verdict_forms.single(line=verdict_forms.YES_NO_LINE)


@assertion("conversation-relevance")
class ConversationRelevance(ModelEvaluator):
    """Every answer in a conversation fits the messages before it."""

    scoring = Scoring(0.5)

    windowSize: WindowSize = 5  # noqa: N815  # the key in the config

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        # As in promptfoo: what `_conversation` holds is the conversation, and an answer that it lacks is none of it.
        turns = told(transcript.vars.get(CONVERSATION) or ()) or transcript.turns
        cut = windows(exchanges(turns), self.windowSize)
        if not cut:
            raise NoVerdict(
                "the conversation has no complete exchange: a message of the user and an answer to it"
            )
        judge = replace(judge, graded="\n".join(turn.content for turn in turns))
        messages = [
            [{"role": turn.role, "content": turn.content} for _, turn in flat(window)]
            for window in cut
        ]
        judgements = judge.gather(
            *(
                partial(judge.ask, "conversation-relevance", FORM, messages=window)
                for window in messages
            )
        )
        judged = [
            (window[-1][-1].number, judgement)
            for window, judgement in zip(cut, judgements, strict=True)
        ]
        rows = [
            {"turn": number, "verdict": judgement.verdict, "reason": judgement.reason}
            for number, judgement in judged
        ]
        reasons = {
            number: judgement.reason for number, judgement in judged if judgement.verdict == "no"
        }
        relevant_count = len(cut) - len(reasons)
        failures = [f"turn {number}: {reason}" for number, reason in reasons.items()]
        reason = "; not ".join(
            [f"{relevant_count} of {len(cut)} answers are relevant", *failures[:5]]
        )
        return Verdict(
            relevant_count / len(cut), None, reason, {"verdicts": rows}, turns=tuple(reasons)
        )
