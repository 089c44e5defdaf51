"""Assertions in Python, as promptfoo calls them."""


def get_assert(output, context):
    """The answer names what it is about."""
    return context["vars"]["product"] in output


def short(output, context):
    """A result with a score and a reason."""
    words = len(output.split())
    return {"pass": words <= 8, "score": 1.0 if words <= 8 else 0.0, "reason": f"{words} words"}


def share(output, context):
    """A score alone."""
    return min(len(output) / 40, 1.0)
