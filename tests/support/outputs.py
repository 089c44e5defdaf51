"""The outputs of the Action, as action.yml declares them and a run sets them."""

OUTPUTS = ("decision", "passed", "failed", "errored", "pass-rate", "new-failures", "cost-usd", "comment-url", "artifact", "reports")
