"""What a form makes of a reply, and the forms of all graders that read text."""

from gradegate.errors import Unreadable
from gradegate.graders import closedqa, context_faithfulness, context_recall, factuality, g_eval
from gradegate.graders.llm_rubric import SCHEMA, LlmRubric
from gradegate.grading.reading import reply as reading
from gradegate.grading.reading.form import Form
from gradegate.grading.reading.reply import Circumstances

FORMS = {
    "pass": Form(SCHEMA, LlmRubric(value="x").read, object_only=True),
    "letter": factuality.FORM,
    "yes": closedqa.FORM,
    "score": g_eval.SCORE,
    "in order": context_faithfulness._form(2),
    "marked": context_recall._form("The sky is blue. Grass is red. It snows."),
}


def read(form, reply, *judged, prompt=(), **keys):
    """The value of a reply. Raises Unreadable."""
    found = form if isinstance(form, Form) else FORMS[form]
    return reading.read(reply, found, Circumstances(judged, prompt, **keys)).value


def way(form, reply, *judged, prompt=(), **keys):
    """The form of a reply; why it is unreadable, where it is."""
    try:
        return reading.read(reply, FORMS[form], Circumstances(judged, prompt, **keys)).way
    except Unreadable as e:
        return f"unreadable: {e}"
