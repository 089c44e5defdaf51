"""What the Action will do on a pull request, in words: a block of lines for each step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from gradegate.figures import many
from gradegate.github.action import TARGET
from gradegate.running.estimate import estimate, said
from gradegate.starting.choices import ACTION
from gradegate.starting.foreseen import Foreseen, foresee
from gradegate.starting.workflows import ActionStep, action_steps

_COMMENTS = {
    "always": "one on the pull request, updated at every push",
    "changes": "one on the pull request, written anew when outcome or failing cases change",
    "failures": "one on the pull request, when the check fails",
}
_WIDTH = 12


def outlook(root: Path) -> tuple[list[str], list[str]]:
    """What is said of the workflows of a repository, a line each, and what keeps them from running."""
    steps, mistakes = action_steps(root)
    problems = [str(mistake) for mistake in mistakes]
    lines: list[str] = []
    for step in steps:
        lines += [f"{step.origin}, job {step.job}:"]
        if not any(event.startswith("pull_request") for event in step.events):
            lines += [_line("runs", f"not on a pull request, but on {', '.join(step.events) or 'nothing'}"), ""]
            continue
        found = foresee(step, root)
        problems += [f"{step.origin}: {mistake}" for mistake in found.mistakes]
        problems += [f"{step.origin}: {text}" for text in _lacking(found)]
        lines += [*_told(found), ""]
    if not steps and not problems:
        problems.append("no workflow uses gradegate -> `gradegate init` writes one")
    return lines, problems


def _line(title: str, text: str) -> str:
    return f"  {title:{_WIDTH}}{text}"


def _told(found: Foreseen) -> Iterator[str]:
    step = found.step
    yield _line("runs", _events(step))
    if "pull_request_target" in step.events:
        yield _line("", TARGET)
    if step.condition:
        yield _line("only if", step.condition)
    release = " -> put the commit of a release there" if step.uses == ACTION else ""
    yield _line("uses", f"{step.uses}{release}")
    if found.unknown:
        yield _line("not known", f"{', '.join(found.unknown)}: GitHub fills it in when it runs")
    yield from _plan(found)
    yield _line("base", _base(found))
    yield _line("permissions", _rights(step))
    yield from _reports(found)
    yield _line("forks", _forks(found))


def _events(step: ActionStep) -> str:
    """The events of pull requests, with their filters."""
    named = []
    for event, filters in step.events.items():
        if event.startswith("pull_request"):
            kept = filters if isinstance(filters, Mapping) else {}
            only = [f"{name}: {_list(value)}" for name, value in kept.items()]
            named.append(f"on {event}" + (f" ({'; '.join(only)})" if only else ""))
    return " and ".join(named)


def _list(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _plan(found: Foreseen) -> Iterator[str]:
    """Configs, models, keys, calls and cost; nothing where there is no plan."""
    prepared, run = found.prepared, found.action.run
    if prepared is None:
        why = (
            f"the plan is not known here, as no code is run: {found.unseen}"
            if found.unseen
            else "no plan, for the reasons below"
        )
        named = ", ".join(run.configs) or "the one of the folder"
        yield _line("configs", f"{named}: {why}")
        return
    plan = prepared.shown_plan
    numbers = f"{many(plan.answers, 'answer')}, {many(plan.assertions, 'assertion')}"
    yield _line("configs", f"{', '.join(plan.digests)}: {numbers}")
    if run.answers:
        yield _line("answers", f"read from {', '.join(run.answers)}; no target is asked")
    asked = [str(model) for model in plan.models if model.host]
    yield _line("asks", "; ".join(asked) or "nobody: replies come from files of the repository")
    yield _line("keys", _keys(found))
    lines = estimate(plan), prepared.client.budget.limits
    for text in said(*lines):
        title, _, rest = text.partition(": ")
        yield _line(title, prepared.hide(rest))
    if run.shard or run.merge or "shard" in found.unknown:
        yield _line("shards", "these are the numbers of all shards together; `merge` asks nobody and decides")


def _keys(found: Foreseen) -> str:
    """Which variables go where, and which are passed and not used."""
    prepared = found.prepared
    used = [str(use) for use in prepared.plan.keys if use.name not in found.missing] if prepared else []
    names = {use.name for use in prepared.plan.keys} if prepared else set()
    idle = [name for name in found.passed if name not in names]
    parts = ["; ".join(used)] if used else ["none is needed" if not found.missing else "none"]
    if idle:
        parts.append(f"{', '.join(idle)} {'is' if len(idle) == 1 else 'are'} passed and not used")
    return "; ".join(parts)


def _lacking(found: Foreseen) -> Iterator[str]:
    """Keys that the run needs and nobody passes."""
    for name in found.missing:
        yield f"the run needs {name}, and the step does not pass it -> `env: {name}: ${{{{ secrets.{name} }}}}`"


def _base(found: Foreseen) -> str:
    base = found.step.inputs.get("base", "")
    if not base:
        return "none is given, so nobody says how a pull request weakens its own gate (docs/github.md)"
    blocks = "; what weakens it blocks" if found.action.run.changes == "block" else ""
    asked = "; its prompts are asked, too, and are counted as if they were those of today" if found.both_sides else ""
    there = "" if base in found.step.checkouts or "${{" in base else ", which no step before it checks out"
    return f"{base}{there}: the report says how a pull request changes its own gate{blocks}{asked}"


def _rights(step: ActionStep) -> str:
    rights = step.rights
    if rights is None:
        return "those of the repository's settings, as the workflow names none"
    if isinstance(rights, Mapping):
        return ", ".join(f"{name}: {value}" for name, value in rights.items()) or "none"
    return str(rights)


def _may_comment(step: ActionStep) -> bool:
    rights = step.rights
    if isinstance(rights, Mapping):
        return rights.get("pull-requests") == "write"
    return rights in (None, "write-all")


def _reports(found: Foreseen) -> Iterator[str]:
    action, prepared = found.action, found.prepared
    text = _COMMENTS.get(action.comment, "none")
    if action.comment != "off" and not _may_comment(found.step):
        text = "refused, as `pull-requests: write` is not among the permissions"
    key = f" (comment-key {action.comment_key})" if action.comment_key and text != "none" else ""
    yield _line("comment", text + key)
    yield _line("files", ", ".join(action.run.outputs) or "none")
    pages = [name for name, on in (("job summary", action.summary), ("annotations", action.annotations)) if on]
    if pages:
        yield _line("besides", ", ".join(pages))
    if action.only_changed and prepared:
        yield _line(
            "unless", "a pull request changes none of the files that it depends on: it passes without a run then"
        )


def _forks(found: Foreseen) -> str:
    """What becomes of pull requests whose workflow GitHub gives no secrets."""
    if "pull_request" not in found.step.events:
        return "see docs/github.md (Events)"
    if found.prepared is None:
        return "not known without a plan"
    used = found.prepared.plan.keys
    needs = {*found.missing, *(use.name for use in used)}
    if not needs:
        return "run as any other, as no key is needed; no comment, since their token only reads"
    ends = "passes (on-missing-secrets: neutral)" if found.action.neutral else "fails with exit code 3"
    return f"not run, as GitHub gives them no secrets: the check {ends}; docs/github.md (Forks) has a way in two stages"
