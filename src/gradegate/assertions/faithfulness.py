"""faithfulness: whether the retrieved documents support what an answer claims.

Score: claims that hold / all claims. Modes: a claim holds if no document contradicts it; with ``penalize_ambiguous_claims``
only if a document supports it. ``no_claims`` says what an answer without claims is. Source:
https://deepeval.com/docs/metrics-faithfulness, ``deepeval/metrics/faithfulness/``, after RAGAS
(https://arxiv.org/abs/2309.15217).
"""

from functools import partial

from gradegate.assertions.grading.evaluator import Judge, Transcript, assertion
from gradegate.assertions.metrics.claims import ClaimSource, FaithfulnessMetric, describe_failure
from gradegate.assertions.metrics.conversation import Measurement, collect_images, find_retrieval
from gradegate.assertions.metrics.units import NoUnitsError
from gradegate.core.conversation import Image


@assertion("faithfulness")
class Faithfulness(FaithfulnessMetric):
    """The claims of an answer hold against the documents that were retrieved for it."""

    def measure(self, transcript: Transcript, judge: Judge) -> Measurement:
        retrieval = find_retrieval(transcript)
        texts = dict.fromkeys(retrieval.documents)
        groups = self.group_documents((*texts, *map(Image, retrieval.images)))
        images = collect_images(transcript.turns)
        source = ClaimSource(retrieval.question, transcript.output, images)

        # Ask for claims and truths at once, then for a verdict on each claim.
        claims, *truths_of_groups = judge.gather(
            partial(self.ask_claims, judge, source),
            *(partial(self.ask_truths, judge, group) for group in groups),
        )
        truths: list[str] = []
        for truths_of_group in truths_of_groups:
            truths += truths_of_group
        judged_claims = self.ask_verdicts(judge, claims, tuple(truths))
        if not judged_claims.pairs:
            raise NoUnitsError("the answer claims nothing")

        rows = []
        findings = []
        for claim, judgement in judged_claims.pairs:
            rows.append(judgement.row(claim=claim))
            if self.is_failure(judgement):
                findings.append(describe_failure(claim, judgement))
        total = len(rows)
        return Measurement(
            self.share_of_holding_claims(judged_claims),
            f"{total - len(findings)} of {total} claims hold",
            tuple(findings),
            evidence={"claims": rows, "truths": truths},
        )
