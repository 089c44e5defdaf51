"""Tests that are made by a function."""


def questions():
    """A test for each product."""
    return [
        {"vars": {"question": f"Is the {product} in stock?"}, "assert": [{"type": "contains", "value": product}]}
        for product in ("lamp", "shade")
    ]
