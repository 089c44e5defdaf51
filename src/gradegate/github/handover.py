"""What the action's script hands over in two variables: the inputs and the environment of the workflow's step, as JSON.

A composite action is given no ``INPUT_*`` by the runner, and may not tell the step's own variables from those of the machine; the
contexts ``inputs`` and ``env`` can (actions/runner, CompositeActionHandler), unknown inputs among them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from gradegate.errors import ConfigError
from gradegate.reporting.visible import one_line
from gradegate.results.mapping import encodable

INPUTS, ENV = "GRADEGATE_INPUTS", "GRADEGATE_ENV"
# What steers this process or the runner is not the step's to set.
_CLOSED = re.compile(r"(?:GITHUB|RUNNER|ACTIONS|INPUT|PYTHON|LD)_.*|PYTHON\w*|PATH|HOME|CI|GRADEGATE_(?:INPUTS|ENV|NETWORK)", re.DOTALL)


def handed(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment as a container action has it. Raises ConfigError where the script handed over something else."""
    inputs, variables = _read(environ, INPUTS), _read(environ, ENV)
    own = {name: value for name, value in environ.items() if name not in (INPUTS, ENV)}
    given = {name: value for name, value in variables.items() if not _CLOSED.fullmatch(name)}
    spelled = {f"INPUT_{name.replace(' ', '_').upper()}": value for name, value in inputs.items()}
    return {**own, **given, **spelled}


def _read(environ: Mapping[str, str], name: str) -> dict[str, str]:
    text = environ.get(name, "")
    try:
        values = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict) or not all(isinstance(value, str) for value in values.values()):
        raise ConfigError.at(f"{name} is not a JSON object of texts", None, "leave it to action.yml, which sets it")
    # What the system takes for a variable; what a workflow passes on from an event may hold any sign.
    unfit = (key for key, text in values.items() if not key or "=" in key or "\0" in key + text or encodable(key + text) != key + text)
    wrong = next(unfit, None)
    if wrong is not None:
        where = "`with`" if name == INPUTS else "`env`"
        what = f"`{one_line(wrong, 100)}` in {where} of the step cannot be a variable of the environment"
        raise ConfigError.at(what, None, "give it a name without `=`, and a text without the sign NUL and without halves of signs")
    return values
