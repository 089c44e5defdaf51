"""Prompts that are written by functions."""


def support(context):
    """A text for one question."""
    return f"You are the support desk of {context['vars']['shop']}. Customer: {context['vars']['question']}"


def chat(context):
    """Messages."""
    return [
        {"role": "system", "content": f"You work for {context['vars']['shop']}."},
        {"role": "user", "content": context["vars"]["question"]},
    ]
