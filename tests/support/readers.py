"""What a form makes of a reply, and the forms of all graders that read text."""

from gradegate.assertions import closedqa, context_faithfulness, context_recall, factuality, g_eval
from gradegate.assertions.judge import reply as reading
from gradegate.assertions.judge.form import Form
from gradegate.assertions.judge.reply import Circumstances
from gradegate.assertions.llm_rubric import SCHEMA, LlmRubric
from gradegate.core.conversation import Reply
from gradegate.core.usage import Usage
from gradegate.errors import Unreadable
from gradegate.providers.api.provider import Provider

FORMS = {
    "pass": Form(SCHEMA, LlmRubric(value="x").read),
    "letter": factuality.FORM,
    "yes": closedqa.FORM,
    "score": g_eval.SCORE,
    "in order": context_faithfulness.statements_form(("one", "two")),
    "marked": context_recall.sentences_form(["The sky is blue.", "Grass is red.", "It snows."], is_our_prompt=False),
}


def read(form, reply, *judged, prompt=(), **keys):
    """The value of a reply. Raises Unreadable."""
    found = form if isinstance(form, Form) else FORMS[form]
    return reading.read_reply(reply, found, Circumstances(judged, prompt, **keys)).value


def way(form, reply, *judged, prompt=(), **keys):
    """The form of a reply; why it is unreadable, where it is."""
    try:
        return reading.read_reply(reply, FORMS[form], Circumstances(judged, prompt, **keys)).reply_form
    except Unreadable as e:
        return f"unreadable: {e}"


class Says(Provider):
    """A model that gives these replies in order, the last again, and keeps what it was asked; its endpoint may enforce a schema."""

    name = "the judge"
    url = "https://judge.example/v1"
    takes_images = True

    def __init__(self, *replies, structured="none"):
        self.structured, self.replies, self.requests = structured, list(replies), []

    def complete(self, request):
        self.requests.append(request)
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if isinstance(reply, Reply):
            return reply
        return Reply(reply, Usage(calls=1), constrained=self.structured == "enforced" and request.schema is not None)
