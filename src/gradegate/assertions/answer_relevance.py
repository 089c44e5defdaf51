"""answer-relevance: whether the answer is about the query.

A model writes three questions that the answer would answer. Score: the mean cosine between the embedding of the query and
the embeddings of the questions; a question counts 0 if the answer evades. No modes. Source: answer relevance of RAGAS
(https://arxiv.org/abs/2309.15217) as in promptfoo:
https://www.promptfoo.dev/docs/configuration/expected-outputs/model-graded/answer-relevance/, ``src/matchers/rag.ts``.
"""

from functools import partial

from gradegate.assertions.grading.evaluator import (
    Judge,
    ModelEvaluator,
    NoVerdict,
    Requirements,
    Scoring,
    Transcript,
    Unreadable,
    Verdict,
    assertion,
)
from gradegate.assertions.judge import form, prose
from gradegate.assertions.judge.form import Form, object_schema
from gradegate.assertions.judge.lines import parse_single_line
from gradegate.assertions.metrics import vectors
from gradegate.assertions.metrics.context import missing_query
from gradegate.core.conversation import Variables
from gradegate.core.numbers import EPSILON
from gradegate.structs import JsonObject, Struct

QUESTIONS = 3
SCHEMA = object_schema(question={"type": "string"}, evades={"type": "boolean"})


class Question(Struct, frozen=True):
    """A question that the answer would answer."""

    text: str
    evades: bool  # the answer says nothing that was asked for


def _read_question(reply: JsonObject, *, is_our_prompt: bool) -> Question:
    """The question of a reply. A prompt of the user need not ask for ``evades``. Raises Unreadable."""
    text = reply.get("question")
    if not isinstance(text, str) or not prose.has_words(text):
        raise Unreadable("`question` is not a text")

    evades: bool | None = False
    if is_our_prompt or "evades" in reply:
        evades = form.parse_truth(form.required_value(reply, "evades"))
    if evades is None:
        raise Unreadable("`evades` is not a boolean")
    return Question(text.strip(), evades)


FORM_OF_OUR_PROMPT = Form(SCHEMA, partial(_read_question, is_our_prompt=True))
FORM_OF_USER_PROMPT = Form(
    SCHEMA,
    partial(_read_question, is_our_prompt=False),
    read_lines=lambda text: {"question": parse_single_line(text)},
    texts_key="question",
)


@assertion("answer-relevance")
class AnswerRelevance(ModelEvaluator):
    """The answer is about what was asked: questions generated from it resemble the query."""

    scoring = Scoring(0.5, share=False, tolerance=EPSILON)
    requires = Requirements(("text", "embedding"))

    def count_questions(self, exchanges: int) -> int:
        return QUESTIONS

    def missing_variables(self, variables: Variables) -> str:
        """Say that ``query`` is empty. Without the variable, the prompt is the query."""
        return missing_query(variables) if isinstance(variables.get("query"), str) else ""

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        query = transcript.vars.get("query")
        if not isinstance(query, str):
            query = transcript.prompt
        if not query.strip():
            raise NoVerdict("the prompt is empty, so there is no query to compare with")

        question_form = FORM_OF_USER_PROMPT if judge.rubric.steps else FORM_OF_OUR_PROMPT
        variables = [{"answer": transcript.output}] * QUESTIONS
        questions = judge.ask_all("answer-relevance", question_form, variables)
        texts = [question.text for question in questions]
        query_vector, *question_vectors = judge.embed([query, *texts])

        similarities = []
        evidence = []
        for question, vector in zip(questions, question_vectors, strict=True):
            similarity = 0.0 if question.evades else vectors.cosine(query_vector, vector)
            similarities.append(similarity)
            evidence.append({"question": question.text, "similarity": similarity})
        score = sum(similarities) / QUESTIONS
        reason = f"questions that the answer would answer resemble the query by {score:.2f}"
        return Verdict(score, None, reason, {"query": query, "questions": evidence})
