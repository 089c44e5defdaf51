"""DeepEval's dataset files: goldens and conversations that ``EvaluationDataset.save_as`` wrote, read as cases."""

from gradegate.config import goldens
from gradegate.config.cases import read_turns
from gradegate.config.dialect import DIALECTS, Dialect, Source
from gradegate.config.test_files import TABLES
from gradegate.core.policy import Policy, Rule
from gradegate.core.provider_spec import PromptSpec
from gradegate.core.suite import Case, CaseOptions, Suite
from gradegate.errors import Mistake, Origin, gather_mistakes


def read(source: Source) -> Suite:
    """A suite of recorded cases; what is asserted of them, ``--assert`` says."""
    cases = []
    mistakes: list[Mistake] = []
    for row in source.content:
        with gather_mistakes(mistakes):
            (test,) = goldens.tests_from_goldens(
                [row], source.file, joined=source.path.suffix in TABLES
            )
            origin, options = Origin(source.file, test.line), CaseOptions(expand_vars=False)
            turns = read_turns(test["turns"], source, origin) if "turns" in test else ()
            about = {name: test[name] for name in ("description", "vars", "metadata")}
            cases.append(
                Case(
                    **about,
                    options=options,
                    output=test.get("providerOutput"),
                    turns=turns,
                    origin=origin,
                )
            )
    cure = "save the answers with it, or name the file under `tests` of a config with `providers`"
    lacks = {True: "the conversation has no answers", False: "the golden has no `actual_output`"}
    mistakes += [
        Mistake(lacks[bool(case.turns)], case.origin, cure)
        for case in cases
        if not case.is_recorded
    ]
    return Suite(
        file=source.file,
        prompts=(PromptSpec("{{input}}", origin=Origin(source.file)),),
        cases=tuple(case for case in cases if case.is_recorded),
        policy=Policy((Rule("every case passes", every_case=True, suite=source.file),)),
        env=source.env,
        mistakes=tuple(mistakes),
    )


DIALECTS.register("deepeval")(
    Dialect(
        "deepeval",
        "a dataset that DeepEval saved as .json, .jsonl or .csv",
        goldens.are_goldens,
        read,
    )
)
