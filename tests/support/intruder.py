"""Code of a pull request that tries what it can: what it must not be able to, by name, as a provider in Python or for node."""

import json

from support.each import table
from support.step import CANARY, Left, Step

SOURCE, NODE = table(__file__, "source"), table(__file__, "node")


def intrude(action: Step, source: str = SOURCE, name: str = "app.py") -> tuple[Left, list[str]]:
    """A step of a pull request whose provider is the intruder, and what it got."""
    at = action.launcher.mounted(action.root)
    planted = ("home/.docker/config.json", "runner_temp/git-credentials-1.config", "workspace/.git/config", "workspace/.npmrc")
    for place in planted:
        path = action.root / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(CANARY)
    commands = [f"file_commands/{name}_{action.runs + 1}" for name in ("output", "summary")]
    told = {
        "secret": [f"{at}/{name}" for name in (*planted, *commands, "workflow/event.json")],
        "fixed": [f"{at}/workspace", f"{at}/workspace/evals", f"{at}/workspace/.git", f"{at}/file_commands", "/opt/gradegate"],
        "processes": [],
        "sockets": ["/var/run/docker.sock"],
    }
    config = {
        "prompts": ["try"],
        "providers": [{"id": f"file://{name}", "config": {"told": told}}],
        "tests": [{"assert": [{"type": "equals", "value": "[]"}, {"type": "python", "value": "output == '[]'"}]}],
    }
    action.write({"evals/promptfooconfig.yaml": json.dumps(config), f"evals/{name}": source})
    left = action.run(allow_exec="true", grader="")
    results = json.loads((action.workspace / "evals" / "gradegate-results.json").read_text())
    (case,) = results["cases"]
    got = json.loads(case["output"]) if case.get("output") else [case.get("error", "nothing came of it")]
    return left, got
