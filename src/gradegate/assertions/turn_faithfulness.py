"""turn-faithfulness: whether the retrieved documents support what an assistant claims in a conversation.

Score: the mean over windows of the share of claims that hold. Each exchange ends one window of at most ``window_size``
exchanges. Modes: ``overlap: deepeval`` judges all exchanges of a window, so it judges most exchanges in several windows;
``overlap: last`` judges only the last exchange of a window, so it judges each exchange once. Source:
https://deepeval.com/docs/metrics-turn-faithfulness, ``deepeval/metrics/turn_faithfulness/``.
"""

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Literal, NamedTuple

from gradegate.assertions.grading.evaluator import Each, Judge, NoVerdict, Transcript, assertion
from gradegate.assertions.judge.verdict_forms import Judgement
from gradegate.assertions.metrics.claims import (
    ClaimSource,
    FaithfulnessMetric,
    JudgedClaims,
    describe_failure,
)
from gradegate.assertions.metrics.conversation import (
    DOCUMENT_VARIABLES,
    Measurement,
    WindowSize,
    ask_distinct,
    collect_images,
    find_texts,
    require_exchanges,
    require_questions,
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


class _JudgedWindow(NamedTuple):
    """A window: its documents, the turns with claims that are judged, and the source of these claims."""

    documents: tuple[str, ...]
    judged_turns: tuple[Numbered, ...]
    source: ClaimSource

    @property
    def span(self) -> str:
        """The numbers of the first and the last judged turn: ``1-4``."""
        return f"{self.judged_turns[0].number}-{self.judged_turns[-1].number}"


class _WindowResult(NamedTuple):
    """A window with its judged claims and its score."""

    window: _JudgedWindow
    claims: JudgedClaims
    score: Fraction

    def evidence(self) -> JsonObject:
        return {
            "turns": self.window.span,
            "score": float(self.score),
            "claims": len(self.claims.pairs),
            "truths": len(self.claims.truths),
        }

    def steps(self) -> list[str]:
        """The lines for ``verbose_mode``."""
        lines = [f"turns {self.window.span}: score {float(self.score):.4g}"]
        lines += [f"  truth: {truth}" for truth in self.claims.truths]
        for claim, judgement in self.claims.pairs:
            lines.append(f"  claim: {claim} -> {judgement.verdict}: {judgement.reason}")
        return lines


class _DoubtfulClaim(NamedTuple):
    """A claim with the verdict "no" or "idk", and the number of the turn that makes the claim."""

    turn: int
    claim: str
    judgement: Judgement[str]


@assertion("turn-faithfulness")
class TurnFaithfulness(FaithfulnessMetric):
    """The claims of an assistant hold, throughout a conversation, against the documents retrieved for it."""

    requires = require_questions(Each("truths"), Each("claims"), Each("verdicts"))

    window_size: WindowSize = 10
    overlap: Literal["deepeval", "last"] = "deepeval"

    def missing_in_turns(self, turns: Sequence[Turn], variables: Variables) -> str:
        """Say that there are no documents: in the turns, in the variables, or from ``contextTransform``."""
        has_documents = any(turn.retrieval_context for turn in turns if self._uses_documents(turn))
        has_source = has_documents or self.context_transform is not None
        if has_source or find_texts(variables, *DOCUMENT_VARIABLES):
            return ""
        return "no answer of the conversation has a `retrieval_context`; add it to the turns, or name it with contextTransform"

    def ignored_in_turns(self, turns: Sequence[Turn]) -> str:
        """Say which messages of the user have documents that are not used."""
        return "" if self.overlap == "last" else self._note_on_user_documents(turns)

    def measure(self, transcript: Transcript, judge: Judge) -> Measurement:
        exchanges = require_exchanges(transcript.turns)
        windows = [
            self._make_window(window) for window in split_windows(exchanges, self.window_size)
        ]
        if not any(window.documents for window in windows):
            raise NoVerdict(
                "no answer of the conversation has a `retrieval_context`, so there is nothing to check it against"
            )

        # Ask for the truths and the claims of all windows at once. A window has several groups of documents.
        questions: list[tuple[str, ...] | ClaimSource] = []
        for window in windows:
            questions += self.group_documents(window.documents)
            questions.append(window.source)

        def ask(question: tuple[str, ...] | ClaimSource) -> tuple[str, ...]:
            if isinstance(question, ClaimSource):
                return self.ask_claims(judge, question)
            return self.ask_truths(judge, question)

        replies = ask_distinct(judge, questions, ask)

        # Then compare the claims of each window with the truths of the window.
        comparisons = []
        for window in windows:
            truths: list[str] = []
            for documents in self.group_documents(window.documents):
                truths += replies[documents]
            comparisons.append((replies[window.source], tuple(truths)))
        judged_claims = ask_distinct(
            judge, comparisons, lambda comparison: self.ask_verdicts(judge, *comparison)
        )

        results = []
        for window, comparison in zip(windows, comparisons, strict=True):
            judged = judged_claims[comparison]
            results.append(_WindowResult(window, judged, self.share_of_holding_claims(judged)))
        return self._make_measurement(results, self._make_notes(transcript, windows))

    def _make_window(self, window: Window) -> _JudgedWindow:
        """Find the judged turns of a window, and what the grader sees of the window."""
        turns = window_turns(window)
        judged_turns = window[-1] if self.overlap == "last" else turns
        first = judged_turns[0].number

        documents: list[str] = []
        earlier = []
        questions = []
        answers = []
        for number, turn in turns:
            if self._uses_documents(turn):
                documents += turn.retrieval_context
            if number < first:
                earlier.append(turn.content)
            elif turn.role == "user":
                questions.append(turn.content)
            else:
                answers.append(turn.content)

        # Earlier turns show what words in the judged turns refer to. Their claims are not judged again.
        texts = filter(None, ("\n".join(earlier), "\n".join(questions)))
        images = collect_images(turn for _, turn in turns)
        source = ClaimSource("\n".join(texts), "\n".join(answers), images)
        return _JudgedWindow(tuple(dict.fromkeys(documents)), judged_turns, source)

    def _uses_documents(self, turn: Turn) -> bool:
        """Whether the documents of a turn count. Those on a message of the user count only with ``overlap: last``."""
        return turn.role == "assistant" or self.overlap == "last"

    def _make_measurement(
        self, results: Sequence[_WindowResult], notes: tuple[str, ...]
    ) -> Measurement:
        """The mean of the scores, with the claims that do not hold. Raises NoUnitsError if there are no claims."""
        if not any(result.claims.pairs for result in results):
            raise NoUnitsError("the assistant claims nothing")

        contradicted = []
        ambiguous = []
        findings = []
        failed_turns: dict[int, None] = {}  # each once, in order
        for turn, claim, judgement in _doubtful_claims(results):
            entry = {"turn": turn, "claim": claim, "reason": judgement.reason}
            if judgement.verdict == "no":
                contradicted.append(entry)
            else:
                ambiguous.append(entry)
            if self.is_failure(judgement):
                findings.append(f"turn {turn}: {describe_failure(claim, judgement)}")
                failed_turns[turn] = None

        windows = []
        steps = []
        for result in results:
            windows.append(result.evidence())
            steps += result.steps()

        perfect_count = sum(result.score == 1 for result in results)
        unit = "exchanges" if self.overlap == "last" else "windows"
        return Measurement(
            exact_mean(result.score for result in results),
            f"{perfect_count} of {len(results)} {unit} hold in full",
            tuple(findings),
            notes,
            evidence={"contradicted": contradicted, "ambiguous": ambiguous, "windows": windows},
            steps=tuple(steps),
            turns=tuple(failed_turns),
        )

    def _make_notes(
        self, transcript: Transcript, windows: Sequence[_JudgedWindow]
    ) -> tuple[str, ...]:
        """Sentences about turns that were judged without documents, or not at all."""
        notes = [self._note_on_user_documents(transcript.turns)]
        spans = ", ".join(window.span for window in windows if not window.documents)
        if spans:
            notes.append(
                f"no retrieval context for turns {spans}: claims were checked against nothing"
            )
        unanswered = unanswered_turns(transcript.turns)
        if unanswered:
            notes.append(f"{_format_turns(unanswered)} got no answer and was not judged")
        return tuple(filter(None, notes))

    def _note_on_user_documents(self, turns: Sequence[Turn]) -> str:
        """Say which messages of the user have documents, and whether these are used. Empty if there are none."""
        numbers = [
            number
            for number, turn in enumerate(turns, 1)
            if turn.role == "user" and turn.retrieval_context
        ]
        if not numbers:
            return ""
        usage = "is used" if self.overlap == "last" else "is not used; `overlap: last` uses it"
        return f"the retrieval context of {_format_turns(numbers)} is on a message of the user and {usage}"


def _doubtful_claims(results: Sequence[_WindowResult]) -> list[_DoubtfulClaim]:
    """The claims without a yes, in the order of the turns. A claim in several windows is listed once for each verdict."""
    doubtful: dict[tuple[int, str, str], _DoubtfulClaim] = {}
    for result in results:
        for claim, judgement in result.claims.pairs:
            if judgement.verdict == "yes":
                continue
            turn = _likely_turn(claim, result.window.judged_turns)
            key = (turn, claim, judgement.verdict)
            doubtful.setdefault(key, _DoubtfulClaim(turn, claim, judgement))
    return sorted(doubtful.values(), key=lambda claim: claim.turn)


def _likely_turn(claim: str, turns: Sequence[Numbered]) -> int:
    """The number of the answer that has most words of a claim.

    The grader lists the claims of a window without their turns. The number is for evidence and reasons only.
    """
    claim_words = _distinct_words(claim)

    def count_shared_words(answer: Numbered) -> int:
        return len(claim_words & _distinct_words(answer.turn.content))

    answers = [numbered for numbered in turns if numbered.turn.role == "assistant"]
    return max(answers, key=count_shared_words).number


def _distinct_words(text: str) -> set[str]:
    return set(_WORDS.findall(text.lower()))


def _format_turns(numbers: Sequence[int]) -> str:
    """Numbers of turns in a sentence: ``turn 3`` or ``turns 3, 5``."""
    noun = "turns" if len(numbers) > 1 else "turn"
    return f"{noun} {', '.join(map(str, numbers))}"
