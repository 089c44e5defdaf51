"""faithfulness: what an answer claims, held against the documents that were retrieved for it.

Score: the share of claims that no document contradicts (that one supports, with ``penalize_ambiguous_claims``).
Source: https://deepeval.com/docs/metrics-faithfulness, ``deepeval/metrics/faithfulness/``, after RAGAS
(https://arxiv.org/abs/2309.15217).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from gradegate.grading.grader import GRADERS, options
from gradegate.grading.judge import Judge
from gradegate.grading.metrics import faithfulness as faith
from gradegate.grading.metrics.metric import Measured, Metric, images_in
from gradegate.grading.metrics.retrieval import retrieved
from gradegate.values.conversation import Image, Transcript


@GRADERS.register("faithfulness")
@options
class Faithfulness(Metric):
    """The claims of an answer hold against the documents that were retrieved for it."""

    asks = replace(Metric.asks, steps=faith.STEPS)

    truths_extraction_limit: faith.Limit = None
    penalize_ambiguous_claims: bool = False

    def measure(self, transcript: Transcript, judge: Judge) -> Measured:
        """The share of claims that no document contradicts; 1 when nothing is claimed."""
        sources = retrieved(transcript)
        documents = (*dict.fromkeys(sources.documents), *map(Image, sources.images))
        spoken = faith.ClaimSource(sources.question, transcript.output, images_in(transcript.turns))
        limit = self.truths_extraction_limit
        claims, *truths_of = judge.gather(
            partial(faith.ask_claims, judge, spoken),
            *(partial(faith.ask_truths, judge, limit, group) for group in faith.asked_together(documents, limit)),
        )
        truths = tuple(truth for truths in truths_of for truth in truths)
        judged = faith.HeldClaims(claims, faith.ask_verdicts(judge, claims, truths), truths)
        return self._measured(judged)

    def _measured(self, judged: faith.HeldClaims) -> Measured:
        pairs = list(zip(judged.claims, judged.judgements, strict=True))
        bad = faith.bad(self.penalize_ambiguous_claims)
        findings = [faith.described(claim, judgement) for claim, judgement in pairs if judgement.verdict in bad]
        total = len(pairs)
        summary = f"{total - len(findings)} of {total} claims hold" if total else "the answer claims nothing"
        claims = [{"claim": claim, "verdict": judgement.verdict, "reason": judgement.reason} for claim, judgement in pairs]
        return Measured(
            judged.score(self.penalize_ambiguous_claims),
            summary,
            tuple(findings),
            evidence={"claims": claims, "truths": list(judged.truths)},
            steps=(f"truths: {list(judged.truths)}", *(f"claim: {item}" for item in claims)),
        )
