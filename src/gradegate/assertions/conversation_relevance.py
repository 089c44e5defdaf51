"""conversation-relevance: whether each answer of a conversation fits the messages before it.

Score: relevant answers / all answers. Each answer is judged in a window of at most ``windowSize`` exchanges. No modes. As in
promptfoo: https://www.promptfoo.dev/docs/configuration/expected-outputs/model-graded/conversation-relevance/,
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
from gradegate.assertions.metrics.conversation import MAX_FINDINGS, WindowSize, require_exchanges
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
        # As in promptfoo, `_conversation` replaces the conversation, and the last answer is judged only if it is in there.
        turns = parse_conversation(transcript.vars.get(CONVERSATION) or ()) or transcript.turns
        windows = split_windows(require_exchanges(turns), self.windowSize)

        variables = []
        for window in windows:
            messages = [
                {"role": turn.role, "content": turn.content} for _, turn in window_turns(window)
            ]
            variables.append({"messages": messages})
        judge = judge.with_graded(*(turn.content for turn in turns))
        judgements = judge.ask_all("conversation-relevance", FORM, variables)

        evidence = []
        failures = {}  # sentences by the number of the turn
        for window, judgement in zip(windows, judgements, strict=True):
            answer_number = window[-1][-1].number
            evidence.append(judgement.row(turn=answer_number))
            if judgement.verdict == "no":
                failures[answer_number] = f"turn {answer_number}: {judgement.reason}"

        total = len(windows)
        relevant = total - len(failures)
        sentences = [*failures.values()][:MAX_FINDINGS]
        reason = "; not ".join([f"{relevant} of {total} answers are relevant", *sentences])
        return Verdict(
            relevant / total, None, reason, {"verdicts": evidence}, turns=tuple(failures)
        )
