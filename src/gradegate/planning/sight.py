"""Finds models that would be shown images and cannot see them, before anything is asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradegate.asking.provider import Provider
from gradegate.conversation import Image
from gradegate.errors import Mistake
from gradegate.grading.conclude import Bound
from gradegate.suite import Case


def has_images(case: Case) -> bool:
    """Whether any turn holds an image, in its message or among its documents."""
    return any(turn.images or any(isinstance(d, Image) for d in turn.retrieval_context) for turn in case.turns)


def blind_target(case: Case, target: Provider) -> Iterator[Mistake]:
    """The mistake of holding a conversation with images with a target that takes none."""
    if any(turn.images for turn in case.turns) and not case.recorded and not target.sees:
        what = f"the conversation has images, and the target `{target.name}` takes none"
        yield Mistake(what, case.origin, "name a target that takes images, or leave them out")


def blind_graders(case: Case, assertions: Iterable[Bound]) -> Iterator[Mistake]:
    """The mistake of each assertion whose grader is shown images and whose model takes none."""
    if not has_images(case):
        return
    for bound in assertions:
        yield from blind_graders(case, bound.members)
        model = bound.models.get("text")
        if bound.grader is not None and bound.grader.sees and model is not None and not model.sees:
            what = f"`{bound.spec.type}` shows images to `{model.name}`, which takes none"
            yield Mistake(what, bound.spec.origin, "name a grader that takes images")
