"""role-adherence: whether an assistant keeps to its role throughout a conversation.

Score: the share of the assistant's messages that keep to the role. Source:
https://deepeval.com/docs/metrics-role-adherence, ``deepeval/metrics/role_adherence/``.
"""

from gradegate.assertions.grading.evaluator import Judge, Transcript, assertion
from gradegate.assertions.judge import verdict_forms
from gradegate.assertions.metrics.conversation import (
    Measured,
    Metric,
    numbered,
    share_of_yes,
    shown,
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

    def measure(self, transcript: Transcript, judge: Judge) -> Measured:
        turns = numbered(transcript)
        answer_numbers = [number for number, turn in turns if turn.role == "assistant"]
        variables = {
            "role": self._role(transcript.vars),
            "count": len(answer_numbers),
            **shown("conversation", turns),
        }
        judgements = judge.ask(
            "role-adherence",
            verdict_forms.verdict_list_form(count=len(answer_numbers)),
            step="verdicts",
            **variables,
        )
        pairs = zip(answer_numbers, judgements, strict=True)
        return share_of_yes(
            pairs, "turn", "{} of {} messages keep to the role", "turn {turn} breaks the role"
        )
