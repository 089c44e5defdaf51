"""turn-faithfulness: what an assistant claims in a conversation, held against what was retrieved for it.

Score: the mean over windows of the share of claims that hold; each exchange ends one window of at most ``window_size``
(``overlap: last``: each exchange is judged once). Source: https://deepeval.com/docs/metrics-turn-faithfulness,
``deepeval/metrics/turn_faithfulness/``.
"""

import re
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from gradegate.assertions.grading.evaluator import Each, Judge, NoVerdict, Transcript, assertion
from gradegate.assertions.judge.verdict_forms import Judgement
from gradegate.assertions.metrics.claims import (
    ClaimSource,
    FaithfulnessMetric,
    HeldClaims,
    described,
)
from gradegate.assertions.metrics.conversation import (
    DOCUMENTS,
    Measured,
    WindowSize,
    ask_once,
    asking,
    exchanges_of,
    images_in,
    texts_of,
)
from gradegate.assertions.metrics.units import NoUnitsError
from gradegate.core.conversation import (
    Numbered,
    Turn,
    Variables,
    Window,
    split_windows,
    unanswered_turns,
    window_turns,
)
from gradegate.core.numbers import exact_mean
from gradegate.structs import JsonObject

_WORDS = re.compile(r"\w+")
_Question = tuple[
    str, Any
]  # a step, and what it asks about: a group of documents, or a ClaimSource


class _Case(NamedTuple):
    """What one window asks: its documents, the turns whose claims are judged, and what was said in them."""

    documents: tuple[str, ...]
    judged: tuple[Numbered, ...]
    source: ClaimSource

    @property
    def span(self) -> str:
        return f"{self.judged[0].number}-{self.judged[-1].number}"


class _Failure(NamedTuple):
    turn: int
    claim: str
    judgement: Judgement[str]


@assertion("turn-faithfulness")
class TurnFaithfulness(FaithfulnessMetric):
    """The claims of an assistant hold, throughout a conversation, against the documents retrieved for it."""

    requires = asking(*map(Each, ("truths", "claims", "verdicts")))

    window_size: WindowSize = 10
    overlap: Literal["deepeval", "last"] = "deepeval"

    def missing_in_turns(self, turns: Sequence[Turn], variables: Variables) -> str:
        """Documents: of an answer, of any turn with ``overlap: last``, or found by ``contextTransform``."""
        sources = [turn for turn in turns if turn.role == "assistant" or self.overlap == "last"]
        there = any(turn.retrieval_context for turn in sources) or texts_of(variables, *DOCUMENTS)
        if there or self.context_transform is not None:
            return ""
        return "no answer of the conversation has a `retrieval_context`; add it to the turns, or name it with contextTransform"

    def ignored_in_turns(self, turns: Sequence[Turn]) -> str:
        """The documents of messages of the user, but for ``overlap: last``."""
        return "" if self.overlap == "last" else self._note_on_user(turns)

    def _note_on_user(self, turns: Sequence[Turn]) -> str:
        """Which messages of the user have documents, and what becomes of these; empty for none."""
        on_user = [
            number
            for number, turn in enumerate(turns, 1)
            if turn.role == "user" and turn.retrieval_context
        ]
        if not on_user:
            return ""
        used = "is used" if self.overlap == "last" else "is not used; `overlap: last` uses it"
        return f"the retrieval context of {_turns(on_user)} is on a message of the user and {used}"

    def measure(self, transcript: Transcript, judge: Judge) -> Measured:
        cases = [
            self._case(window)
            for window in split_windows(exchanges_of(transcript.turns), self.window_size)
        ]
        if not any(case.documents for case in cases):
            raise NoVerdict(
                "no answer of the conversation has a `retrieval_context`, so there is nothing to check it against"
            )

        # The truths and the claims of all windows are asked for at once.
        questions: list[_Question] = []
        for case in cases:
            questions += self._truth_questions(case)
            questions.append(("claims", case.source))

        def ask(question: _Question) -> tuple[str, ...]:
            step, source = question
            if step == "truths":
                return self.ask_truths(judge, source)
            return self.ask_claims(judge, source)

        answers = ask_once(judge, questions, ask)

        # Then a verdict on each claim, by the truths of its window.
        pairs = []
        for case in cases:
            truths: list[str] = []
            for question in self._truth_questions(case):
                truths += answers[question]
            pairs.append((answers["claims", case.source], tuple(truths)))
        judged_claims = ask_once(judge, pairs, lambda pair: self.ask_verdicts(judge, *pair))
        return self._measured(
            cases, [judged_claims[pair] for pair in pairs], self._notes(transcript, cases)
        )

    def _truth_questions(self, case: _Case) -> list[_Question]:
        return [("truths", group) for group in self.asked_together(case.documents)]

    def _case(self, window: Window) -> _Case:
        turns = window_turns(window)
        is_last_judged = self.overlap == "last"
        judged = window[-1] if is_last_judged else turns

        documents: dict[str, None] = {}  # each once, in order
        for _, turn in turns:
            if turn.role == "assistant" or is_last_judged:
                documents |= dict.fromkeys(turn.retrieval_context)

        asked = "\n".join(turn.content for _, turn in judged if turn.role == "user")
        answered = "\n".join(turn.content for _, turn in judged if turn.role == "assistant")
        if is_last_judged:
            # What was said before tells what words refer to, and is not judged again.
            first = judged[0].number
            earlier = "\n".join(turn.content for number, turn in turns if number < first)
            asked = "\n".join(filter(None, (earlier, asked)))
        images = images_in(turn for _, turn in turns)
        return _Case(tuple(documents), judged, ClaimSource(asked, answered, images))

    def _measured(
        self, cases: list[_Case], judged: list[HeldClaims], notes: tuple[str, ...]
    ) -> Measured:
        if not any(judged_claims.pairs for judged_claims in judged):
            raise NoUnitsError("the assistant claims nothing")
        scores = list(map(self.share, judged))
        failures = _failures(cases, judged)
        bad = [failure for failure in failures if failure.judgement.verdict in self.bad]
        perfect_count = sum(score == 1 for score in scores)
        unit = "exchanges" if self.overlap == "last" else "windows"
        rows = []
        lines = []
        for case, judged_claims, score in zip(cases, judged, scores, strict=True):
            rows.append(
                {
                    "turns": case.span,
                    "score": float(score),
                    "claims": len(judged_claims.pairs),
                    "truths": len(judged_claims.truths),
                }
            )
            lines += [
                f"turns {case.span}: score {float(score):.4g}",
                *(f"  truth: {truth}" for truth in judged_claims.truths),
            ]
            lines += [
                f"  claim: {claim} -> {judgement.verdict}: {judgement.reason}"
                for claim, judgement in judged_claims.pairs
            ]
        evidence: dict[str, list[JsonObject]] = {"contradicted": [], "ambiguous": []}
        for fault in failures:
            name = "contradicted" if fault.judgement.verdict == "no" else "ambiguous"
            evidence[name].append(
                {"turn": fault.turn, "claim": fault.claim, "reason": fault.judgement.reason}
            )
        return Measured(
            exact_mean(scores),
            f"{perfect_count} of {len(scores)} {unit} hold in full",
            tuple(
                f"turn {failure.turn}: {described(failure.claim, failure.judgement)}"
                for failure in bad
            ),
            notes,
            {**evidence, "windows": rows},
            tuple(lines),
            tuple(dict.fromkeys(failure.turn for failure in bad)),
        )

    def _notes(self, transcript: Transcript, cases: list[_Case]) -> tuple[str, ...]:
        notes = [self._note_on_user(transcript.turns)]
        if bare := ", ".join(case.span for case in cases if not case.documents):
            notes.append(
                f"no retrieval context for turns {bare}: claims were checked against nothing"
            )
        if left := unanswered_turns(transcript.turns):
            notes.append(f"{_turns(left)} got no answer and was not judged")
        return tuple(filter(None, notes))


def _failures(cases: list[_Case], judged: list[HeldClaims]) -> list[_Failure]:
    """Each claim that did not get a yes, once, however many windows hold it, in the order of the turns."""
    failures: dict[tuple[int, str, str], _Failure] = {}
    for case, judged_claims in zip(cases, judged, strict=True):
        answers = [
            (number, set(_WORDS.findall(turn.content.lower())))
            for number, turn in case.judged
            if turn.role == "assistant"
        ]
        for claim, judgement in judged_claims.pairs:
            if judgement.verdict != "yes":
                # The answer that a claim was most likely taken from has most of its words: claims are asked for once
                # a window, so that the grader does not say where each is from. This is for evidence alone.
                words = set(_WORDS.findall(claim.lower()))
                turn = max(answers, key=lambda answer: len(words & answer[1]))[0]
                failures.setdefault(
                    (turn, claim, judgement.verdict), _Failure(turn, claim, judgement)
                )
    return sorted(failures.values(), key=lambda failure: failure.turn)


def _turns(numbers: Sequence[int]) -> str:
    return f"turn{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"
