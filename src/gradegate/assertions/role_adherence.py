"""role-adherence: whether an assistant keeps to its role throughout a conversation.

Score: messages of the assistant that keep to the role / all messages of the assistant. Modes: those of ``Metric``. Source:
https://deepeval.com/docs/metrics-role-adherence, ``deepeval/metrics/role_adherence/``.
"""

from gradegate.assertions.grading.evaluator import Judge, Transcript, assertion
from gradegate.assertions.judge import verdict_forms
from gradegate.assertions.metrics.conversation import (
    Measurement,
    Metric,
    measure_share_of_yes,
    number_turns,
    turns_as_variables,
)
from gradegate.core.conversation import Variables


@assertion("role-adherence")
class RoleAdherence(Metric):
    """The assistant keeps to its role in every message."""

    value: str = ""
    """The role, in plain words; without it the variable `chatbot_role`."""
    chatbot_role: str = ""

    def missing_variables(self, variables: Variables) -> str:
        if self._role(variables):
            return ""
        return "there is no role; give it as `value` or as the variable `chatbot_role`"

    def _role(self, variables: Variables) -> str:
        return self.value or self.chatbot_role or str(variables.get("chatbot_role") or "")

    def measure(self, transcript: Transcript, judge: Judge) -> Measurement:
        turns = number_turns(transcript)
        answer_numbers = [number for number, turn in turns if turn.role == "assistant"]
        judgements = judge.ask(
            "role-adherence",
            verdict_forms.verdict_list_form(count=len(answer_numbers)),
            step="verdicts",
            role=self._role(transcript.vars),
            count=len(answer_numbers),
            **turns_as_variables("conversation", turns),
        )
        return measure_share_of_yes(
            zip(answer_numbers, judgements, strict=True),
            "turn",
            "{} of {} messages keep to the role",
            "turn {turn} breaks the role",
        )
