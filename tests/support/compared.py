"""Tests whose outputs are compared with one another."""

from support.graded import models

TWO = ["first about {{topic}}", "second about {{topic}}"]
BEST = {"type": "select-best", "value": "choose the funniest"}


def comparison_config(llm, *assertions, prompts=TWO, providers=("echo",), **keys):
    test = {"vars": {"topic": "bananas"}, "assert": list(assertions or [BEST]), "options": {"provider": models(llm)}, **keys}
    return {"prompts": list(prompts), "providers": list(providers), "tests": [test]}
