"""turn-faithfulness: what an assistant claims in a conversation, held against what was retrieved for it.

Score: the mean over windows of the share of claims that hold; each exchange ends one window of at most
``window_size``. Source: https://deepeval.com/docs/metrics-turn-faithfulness, ``deepeval/metrics/turn_faithfulness/``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, Literal, NamedTuple

from gradegate.errors import NoVerdict
from gradegate.grading.grader import GRADERS, options
from gradegate.grading.judge import Judge
from gradegate.grading.metrics import faithfulness as faith
from gradegate.grading.metrics.metric import Measured, Metric, WindowSize, ask_once, documents_of, exchanges_of
from gradegate.grading.metrics.verdicts import Judgement
from gradegate.values.conversation import Numbered, Transcript, Turn, Window, flat, unanswered, windows
from gradegate.values.limits import mean


class _Case(NamedTuple):
    """What one window asks: its documents, the turns whose claims are judged, and what was said in them."""

    window: Window
    documents: tuple[str, ...]
    judged: tuple[Numbered, ...]
    source: faith.ClaimSource


class _Failure(NamedTuple):
    turn: int
    claim: str
    judgement: Judgement[str]


@GRADERS.register("turn-faithfulness")
@options
class TurnFaithfulness(Metric):
    """The claims of an assistant hold, throughout a conversation, against the documents retrieved for it."""

    asks = replace(Metric.asks, steps=faith.STEPS, each=faith.STEPS[:-1])

    truths_extraction_limit: faith.Limit = None
    penalize_ambiguous_claims: bool = False
    window_size: WindowSize = 10
    overlap: Literal["deepeval", "last"] = "deepeval"

    def needs_turns(self, turns: Sequence[Turn], variables: Mapping[str, Any]) -> str:
        """Documents: of an answer, of any turn with ``overlap: last``, or found by ``contextTransform``."""
        heard = [turn for turn in turns if turn.role == "assistant" or self.overlap == "last"]
        there = any(turn.retrieval_context for turn in heard) or documents_of(variables)
        if there or self.context_transform is not None:
            return ""
        return "no answer of the conversation has a `retrieval_context`; add it to the turns, or name it with contextTransform"

    def measure(self, transcript: Transcript, judge: Judge) -> Measured:
        """The mean of the windows' shares of claims that hold (DeepEval); ``last``: each exchange is judged once."""
        cases = [self._case(window) for window in windows(exchanges_of(transcript), self.window_size)]
        if not any(case.documents for case in cases):
            raise NoVerdict("no answer of the conversation has a `retrieval_context`, so there is nothing to check it against")
        asked = ask_once(
            judge, [question for case in cases for question in (*self._about(case), ("claims", case.source))], partial(self._ask, judge)
        )
        pairs = [(asked["claims", case.source], tuple(truth for about in self._about(case) for truth in asked[about])) for case in cases]
        judgements = ask_once(judge, pairs, lambda pair: faith.ask_verdicts(judge, *pair))
        judged = [faith.HeldClaims(claims, judgements[claims, truths], truths) for claims, truths in pairs]
        return self._measured(cases, judged, self._notes(transcript, cases))

    def _case(self, window: Window) -> _Case:
        turns = flat(window)
        heard = [turn for _, turn in turns if turn.role == "assistant" or self.overlap == "last"]
        documents = tuple(dict.fromkeys(document for turn in heard for document in turn.retrieval_context))
        judged = window[-1] if self.overlap == "last" else turns
        spoken = faith.claim_source(turns)
        if self.overlap == "last":  # what was said before tells what words refer to, and is not judged again
            earlier = "\n".join(turn.content for number, turn in turns if number < judged[0].number)
            last = faith.claim_source(judged)
            spoken = faith.ClaimSource("\n".join(filter(None, (earlier, last.asked))), last.answered, spoken.images)
        return _Case(window, documents, judged, spoken)

    def _about(self, case: _Case) -> list[tuple[str, Any]]:
        """The questions for the truths of a window's documents."""
        return [("truths", group) for group in faith.asked_together(case.documents, self.truths_extraction_limit)]

    def _ask(self, judge: Judge, question: tuple[str, Any]) -> tuple[str, ...]:
        kind, about = question
        if kind == "truths":
            return faith.ask_truths(judge, self.truths_extraction_limit, about)
        return faith.ask_claims(judge, about)

    def _measured(self, cases: list[_Case], judged: list[faith.HeldClaims], notes: tuple[str, ...]) -> Measured:
        scores = [held_claims.score(self.penalize_ambiguous_claims) for held_claims in judged]
        failures = self._failures(cases, judged)
        bad = [failure for failure in failures if failure.judgement.verdict in faith.bad(self.penalize_ambiguous_claims)]
        total = sum(len(held_claims.claims) for held_claims in judged)
        whole = sum(score == 1 for score in scores)
        summary = f"{whole} of {len(scores)} {'exchanges' if self.overlap == 'last' else 'windows'} hold in full"
        return Measured(
            mean(scores),
            summary if total else "the assistant claims nothing",
            tuple(faith.described(failure.claim, failure.judgement, failure.turn) for failure in bad),
            notes,
            self._evidence(cases, judged, scores, failures),
            tuple(line for pair in zip(cases, judged, scores, strict=True) for line in _steps(*pair)),
            tuple(dict.fromkeys(failure.turn for failure in bad)),
        )

    def _failures(self, cases: list[_Case], judged: list[faith.HeldClaims]) -> list[_Failure]:
        """Each claim that did not get a yes, once, however many windows hold it."""
        failures: dict[tuple[int, str, str], _Failure] = {}
        for case, held_claims in zip(cases, judged, strict=True):
            for claim, judgement in zip(held_claims.claims, held_claims.judgements, strict=True):
                if judgement.verdict != "yes":
                    turn = faith.likely_turn(claim, case.judged)
                    failures.setdefault((turn, claim, judgement.verdict), _Failure(turn, claim, judgement))
        return sorted(failures.values(), key=lambda failure: failure.turn)

    def _evidence(
        self, cases: list[_Case], judged: list[faith.HeldClaims], scores: list[Fraction], failures: list[_Failure]
    ) -> dict[str, Any]:
        def listed(word: str) -> list[dict[str, Any]]:
            chosen = [failure for failure in failures if failure.judgement.verdict == word]
            return [{"turn": failure.turn, "claim": failure.claim, "reason": failure.judgement.reason} for failure in chosen]

        rows = [
            {"turns": _span(case.judged), "score": float(score), "claims": len(held_claims.claims), "truths": len(held_claims.truths)}
            for case, held_claims, score in zip(cases, judged, scores, strict=True)
        ]
        return {"contradicted": listed("no"), "ambiguous": listed("idk"), "windows": rows}

    def _notes(self, transcript: Transcript, cases: list[_Case]) -> tuple[str, ...]:
        turns = list(enumerate(transcript.turns, 1))
        on_user = [number for number, turn in turns if turn.role == "user" and turn.retrieval_context]
        bare = [_span(case.judged) for case in cases if not case.documents]
        left = unanswered(transcript.turns)
        used = "is used" if self.overlap == "last" else "is not used; `overlap: last` uses it"
        notes = (
            (on_user, f"the retrieval context of {_turns(on_user)} is on a message of the user and {used}"),
            (bare, f"no retrieval context for turns {', '.join(bare)}: claims were checked against nothing"),
            (left, f"{_turns(left)} got no answer and was not judged"),
        )
        return tuple(text for there, text in notes if there)


def _turns(numbers: list[int] | tuple[int, ...]) -> str:
    return f"turn{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"


def _span(turns: tuple[Numbered, ...]) -> str:
    return f"{turns[0].number}-{turns[-1].number}"


def _steps(case: _Case, judged: faith.HeldClaims, score: Fraction) -> list[str]:
    lines = [f"turns {_span(case.judged)}: score {float(score):.4g}", *(f"  truth: {truth}" for truth in judged.truths)]
    pairs = zip(judged.claims, judged.judgements, strict=True)
    return [*lines, *(f"  claim: {claim} -> {judgement.verdict}: {judgement.reason}" for claim, judgement in pairs)]
