"""Arithmetic on embedding vectors; a vector that says nothing is a provider's error, never a similarity of 0."""

import math
from collections.abc import Sequence

from gradegate.errors import ProviderError

Vector = Sequence[float]


def cosine(first: Vector, second: Vector) -> float:
    """Cosine similarity, -1 to 1. Raises ProviderError."""
    _check(first, second)
    first = _unit(first)
    second = _unit(second)
    return max(-1.0, min(1.0, math.fsum(a * b for a, b in zip(first, second, strict=True))))


def dot(first: Vector, second: Vector) -> float:
    """Dot product; of vectors of length 1 it is the cosine, of others it has no bounds. Raises ProviderError."""
    _check(first, second)
    return _finite(sum(a * b for a, b in zip(first, second, strict=True)))


def euclidean(first: Vector, second: Vector) -> float:
    """Distance, 0 for equal vectors. Raises ProviderError."""
    _check(first, second)
    return _finite(math.dist(first, second))


def _unit(vector: Vector) -> list[float]:
    # By the largest part first: the square of a very small or very large number is 0 or infinite.
    largest = max(abs(part) for part in vector)
    scaled = [part / largest for part in vector]
    length = math.hypot(*scaled)
    return [part / length for part in scaled]


def _check(*vectors: Vector) -> None:
    if len({len(vector) for vector in vectors}) > 1:
        lengths = " and ".join(str(len(vector)) for vector in vectors)
        raise ProviderError(f"the embeddings differ in length: {lengths}")
    for vector in vectors:
        if not all(map(math.isfinite, vector)):
            raise ProviderError("an embedding holds something that is not a finite number")
        if not any(vector):
            raise ProviderError("an embedding is empty or all zeros, so it has no direction")


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise ProviderError("the embeddings are too large to compare")
    return value
