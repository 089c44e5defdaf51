"""Checks the scripts of a suite before the first call, and runs those that make variables."""

from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from uuid import UUID

from gradegate.core.provider_spec import Code
from gradegate.core.suite import Case, Suite
from gradegate.errors import ConfigError, Mistake, Origin, gather_mistakes
from gradegate.planning.identity import Ordinals, digest
from gradegate.structs import replace
from gradegate.templating.script import ProgramFunction, Script, ScriptError, transform_script


def check_script(
    parse: Callable[[Code], Script | ProgramFunction], code: Code, name: str, origin: Origin
) -> None:
    """Raises ConfigError for a script that cannot be used; messages call it ``name``. No code is no mistake."""
    if not code:
        return
    try:
        parse(code)
    except ScriptError as e:
        raise ConfigError(script_mistake(e, code, name, origin)) from e


def script_mistake(error: ScriptError, code: Code, name: str, origin: Origin) -> Mistake:
    """A mistake at the line of the script's file, or at the place of a snippet in the config."""
    if isinstance(code, Mapping):
        return Mistake(f"{name}: {error.what}", Origin(code["file"], error.line), error.cure)
    return Mistake(f"{name}: {error}", origin, error.cure)


def with_made_vars(suite: Suite) -> Suite:
    """The suite with the variables that each ``transformVars`` makes; failures are added to its mistakes."""
    if not any(case.options.transform_vars for case in suite.cases):
        return suite
    cases = []
    mistakes = list(suite.mistakes)
    ordinals = Ordinals()
    for case in suite.cases:
        made = case
        if case.options.transform_vars:
            # The id of a test is the same in every run: it finds answers, replies and baselines again.
            question = digest([PurePosixPath(suite.file).name, case.description, case.vars])
            id_bytes = digest([question.hex(), ordinals.next(question) + 1])[:16]
            with gather_mistakes(mistakes):
                made = _transform_vars(case, str(UUID(bytes=id_bytes, version=4)))
        cases.append(made)
    return replace(suite, cases=tuple(cases), mistakes=tuple(mistakes))


def _transform_vars(case: Case, uuid: str) -> Case:
    code = case.options.transform_vars
    variables = dict(case.vars)
    context = {"prompt": {}, "vars": variables, "uuid": uuid}
    try:
        made = transform_script(code, "vars").call(variables, context).value
    except ScriptError as e:
        raise ConfigError(script_mistake(e, code, "`transformVars`", case.origin)) from e
    if not isinstance(made, Mapping):
        what = "`transformVars` gives no object"
        raise ConfigError.at(what, case.origin, "return `{...vars, name: value}`")
    return replace(case, vars={**case.vars, **made})
