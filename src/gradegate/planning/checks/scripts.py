"""Looks the scripts of a suite over before anything is asked, and runs those that make variables."""

from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from uuid import UUID

from gradegate.core.provider_spec import Code
from gradegate.core.suite import Case, Suite
from gradegate.errors import ConfigError, Mistake, Origin, gather_mistakes
from gradegate.planning.identity import Ordinals, digest
from gradegate.structs import replace
from gradegate.templating.script import ProgramFunction, Script, ScriptError, transform_script


def check(
    read: Callable[[Code], Script | ProgramFunction], code: Code, what: str, origin: Origin
) -> None:
    """Raises ConfigError for a script that cannot be used; ``what`` names it. An empty one is none."""
    if not code:
        return
    try:
        read(code)
    except ScriptError as e:
        raise ConfigError(mistake(e, code, what, origin)) from e


def mistake(error: ScriptError, code: Code, what: str, origin: Origin) -> Mistake:
    """What is wrong with a script: at its line in its file, or at the place in the config with the line of the snippet."""
    if isinstance(code, Mapping):
        return Mistake(f"{what}: {error.what}", Origin(code["file"], error.line), error.cure)
    return Mistake(f"{what}: {error}", origin, error.cure)


def with_made_vars(suite: Suite) -> Suite:
    """The suite with what each ``transformVars`` makes of the variables of its test; those that fail are among its mistakes."""
    if not any(case.options.transform_vars for case in suite.cases):
        return suite
    cases, mistakes = [], [*suite.mistakes]
    seen = Ordinals()
    for case in suite.cases:
        with gather_mistakes(mistakes):
            if case.options.transform_vars:
                # An id of the test's own is the same in every run: answers, replies and baselines are known again by it.
                asked = digest([PurePosixPath(suite.file).name, case.description, case.vars])
                uuid = UUID(bytes=digest([asked.hex(), seen.next(asked) + 1])[:16], version=4)
                case = _with_made_vars(case, str(uuid))  # noqa: PLW2901
        cases.append(case)
    return replace(suite, cases=tuple(cases), mistakes=tuple(mistakes))


def _with_made_vars(case: Case, uuid: str) -> Case:
    code = case.options.transform_vars
    try:
        given = dict(case.vars)
        context = {"prompt": {}, "vars": given, "uuid": uuid}
        made = transform_script(code, "vars").call(given, context).value
    except ScriptError as e:
        raise ConfigError(mistake(e, code, "`transformVars`", case.origin)) from e
    if not isinstance(made, Mapping):
        raise ConfigError.at(
            "`transformVars` gives no object", case.origin, "return `{...vars, name: value}`"
        )
    return replace(case, vars={**case.vars, **made})
