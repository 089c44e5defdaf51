"""faithfulness: what an answer claims, held against the documents that were retrieved for it.

Score: the share of claims that no document contradicts (that one supports, with ``penalize_ambiguous_claims``).
Source: https://deepeval.com/docs/metrics-faithfulness, ``deepeval/metrics/faithfulness/``, after RAGAS (https://arxiv.org/abs/2309.15217).
"""

from functools import partial

from gradegate.assertions.grading.evaluator import Judge, Transcript, assertion
from gradegate.assertions.metrics.claims import ClaimSource, FaithfulnessMetric, described
from gradegate.assertions.metrics.conversation import Measured, images_in, retrieved
from gradegate.assertions.metrics.units import NoUnitsError
from gradegate.core.conversation import Image


@assertion("faithfulness")
class Faithfulness(FaithfulnessMetric):
    """The claims of an answer hold against the documents that were retrieved for it."""

    def measure(self, transcript: Transcript, judge: Judge) -> Measured:
        sources = retrieved(transcript)
        groups = self.asked_together(
            (*dict.fromkeys(sources.documents), *map(Image, sources.images))
        )
        claim_source = ClaimSource(sources.question, transcript.output, images_in(transcript.turns))
        claims, *truths_of = judge.gather(
            partial(self.ask_claims, judge, claim_source),
            *(partial(self.ask_truths, judge, group) for group in groups),
        )
        judged_claims = self.ask_verdicts(
            judge, claims, tuple(truth for truths in truths_of for truth in truths)
        )
        findings = tuple(
            described(claim, judgement)
            for claim, judgement in judged_claims.pairs
            if judgement.verdict in self.bad
        )
        if not judged_claims.pairs:
            raise NoUnitsError("the answer claims nothing")
        total = len(judged_claims.pairs)
        rows = [judgement.row(claim=claim) for claim, judgement in judged_claims.pairs]
        return Measured(
            self.share(judged_claims),
            f"{total - len(findings)} of {total} claims hold",
            findings,
            evidence={"claims": rows, "truths": list(judged_claims.truths)},
        )
