"""answer-relevance: whether the answer is about what was asked, by questions that the answer would answer.

Score: the mean cosine between the embedding of the query and those of three questions made from the answer; an answer that
evades scores 0. That is answer relevance of RAGAS (https://arxiv.org/abs/2309.15217) as promptfoo has it:
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
from gradegate.assertions.judge.form import Form
from gradegate.assertions.judge.lines import parse_single_line
from gradegate.assertions.judge.rubric import object_schema
from gradegate.assertions.metrics import vectors
from gradegate.assertions.metrics.context import lacks_query
from gradegate.core.conversation import Variables
from gradegate.core.numbers import EPSILON
from gradegate.structs import JsonObject, Struct

QUESTIONS = 3


SCHEMA = object_schema(question={"type": "string"}, evades={"type": "boolean"})


class Question(Struct, frozen=True):
    """A question that the answer would answer; ``evades``: the answer is none, and says nothing that was asked for."""

    text: str
    evades: bool


def _read(item: JsonObject, *, is_our_prompt: bool) -> Question:
    question = item.get("question")
    if not isinstance(question, str) or not prose.has_words(question):
        raise Unreadable("`question` is not a text")
    evades = (
        form.parse_truth(form.required_value(item, "evades"))
        if is_our_prompt or "evades" in item
        else False
    )
    if evades is None:
        raise Unreadable("`evades` is not a boolean")
    return Question(question.strip(), evades)


OURS = Form(SCHEMA, partial(_read, is_our_prompt=True))
OF_USER = Form(
    SCHEMA,
    partial(_read, is_our_prompt=False),
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
        """A ``query`` that is there must hold something; without one the prompt is taken."""
        return lacks_query(variables) if isinstance(variables.get("query"), str) else ""

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        query = transcript.vars.get("query")
        asked = query if isinstance(query, str) else transcript.prompt
        if not asked.strip():
            raise NoVerdict("the prompt is empty, so there is no query to compare with")
        reading = OF_USER if judge.rubric.steps else OURS
        variables = [{"answer": transcript.output}] * QUESTIONS
        questions = judge.ask_all("answer-relevance", reading, variables)
        first, *others = judge.embed([asked, *(question.text for question in questions)])
        similarities = [
            0.0 if question.evades else vectors.cosine(first, other)
            for question, other in zip(questions, others, strict=True)
        ]
        score = sum(similarities) / len(similarities)
        rows = [
            {"question": question.text, "similarity": similarity}
            for question, similarity in zip(questions, similarities, strict=True)
        ]
        reason = f"questions that the answer would answer resemble the query by {score:.2f}"
        return Verdict(score, None, reason, {"query": asked, "questions": rows})
