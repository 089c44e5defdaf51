"""Similarity of embedding vectors: cosine, dot product and Euclidean distance.

A vector without a direction is an error of the provider, never a similarity of 0.
"""

import math
from collections.abc import Sequence

from gradegate.errors import ProviderError

Vector = Sequence[float]


def cosine(first: Vector, second: Vector) -> float:
    """Cosine similarity, from -1 to 1. Raises ProviderError."""
    _check_vectors(first, second)
    first = _scale_to_unit_length(first)
    second = _scale_to_unit_length(second)
    similarity = math.fsum(a * b for a, b in zip(first, second, strict=True))
    # Rounding may leave the range by a little.
    return max(-1.0, min(1.0, similarity))


def dot(first: Vector, second: Vector) -> float:
    """Dot product. It equals the cosine for vectors of length 1, and has no bounds for others. Raises ProviderError."""
    _check_vectors(first, second)
    return _require_finite(sum(a * b for a, b in zip(first, second, strict=True)))


def euclidean(first: Vector, second: Vector) -> float:
    """Euclidean distance, 0 for equal vectors. Raises ProviderError."""
    _check_vectors(first, second)
    return _require_finite(math.dist(first, second))


def _scale_to_unit_length(vector: Vector) -> list[float]:
    # Divide by the largest component first: the square of a very small or very large number would be 0 or infinite.
    largest = max(abs(component) for component in vector)
    scaled = [component / largest for component in vector]
    length = math.hypot(*scaled)
    return [component / length for component in scaled]


def _check_vectors(first: Vector, second: Vector) -> None:
    """Raise ProviderError if two vectors cannot be compared."""
    if len(first) != len(second):
        raise ProviderError(f"the embeddings differ in length: {len(first)} and {len(second)}")
    for vector in (first, second):
        if not all(map(math.isfinite, vector)):
            raise ProviderError("an embedding holds something that is not a finite number")
        if not any(vector):
            raise ProviderError("an embedding is empty or all zeros, so it has no direction")


def _require_finite(value: float) -> float:
    if not math.isfinite(value):
        raise ProviderError("the embeddings are too large to compare")
    return value
