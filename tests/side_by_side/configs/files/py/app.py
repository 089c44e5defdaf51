"""An application in Python that promptfoo calls by its function."""


def call_api(prompt, options, context):
    """The last line of the prompt, spoken by the shop."""
    name = (options.get("config") or {}).get("shop", "shop")
    return {"output": f"{name}: {prompt.splitlines()[-1]}", "tokenUsage": {"total": 4, "prompt": 2, "completion": 2}}


def broken(prompt, options, context):
    """An application that is down."""
    return {"error": "the stock is closed"}
