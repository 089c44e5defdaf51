"""DeepEval's dataset files: goldens and conversations that ``EvaluationDataset.save_as`` wrote, read as cases."""

from gradegate.config.cases import read_turns
from gradegate.config.dialect import DIALECTS, Dialect, Source
from gradegate.config.goldens import are_goldens, test_from_golden
from gradegate.config.test_files import TABLES
from gradegate.core.policy import Policy, Rule
from gradegate.core.provider_spec import PromptSpec
from gradegate.core.suite import Case, CaseOptions, Suite
from gradegate.errors import Mistake, Origin, gather_mistakes
from gradegate.structs import JsonObject


def read(source: Source) -> Suite:
    """Read a dataset into a suite of recorded cases. They have no assertions: these come from ``--assert``."""
    cases = []
    mistakes: list[Mistake] = []
    for row in source.content:
        with gather_mistakes(mistakes):
            cases.append(_read_case(row, source))

    recorded_cases = []
    for case in cases:
        if case.is_recorded:
            recorded_cases.append(case)
            continue
        what = "the golden has no `actual_output`"
        if case.turns:
            what = "the conversation has no answers"
        cure = (
            "save the answers with it, or name the file under `tests` of a config with `providers`"
        )
        mistakes.append(Mistake(what, case.origin, cure))
    return Suite(
        file=source.file,
        prompts=(PromptSpec("{{input}}", origin=Origin(source.file)),),
        cases=tuple(recorded_cases),
        policy=Policy((Rule("every case passes", every_case=True, suite=source.file),)),
        env=source.env,
        mistakes=tuple(mistakes),
    )


def _read_case(row: JsonObject, source: Source) -> Case:
    """Read one row. Raises ConfigError."""
    test = test_from_golden(row, source.file, has_joined_lists=source.path.suffix in TABLES)
    origin = Origin(source.file, test.line)
    return Case(
        description=test["description"],
        vars=test["vars"],
        metadata=test["metadata"],
        options=CaseOptions(expand_vars=False),
        output=test.get("providerOutput"),
        turns=read_turns(test["turns"], source, origin) if "turns" in test else (),
        origin=origin,
    )


DIALECTS.register("deepeval")(
    Dialect(
        "deepeval",
        "a dataset that DeepEval saved as .json, .jsonl or .csv",
        are_goldens,
        read,
    )
)
