"""Publishes a decision: annotations, summary, comment, outputs. Nothing here can change the verdict."""

import hashlib
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from secrets import token_hex

from gradegate.core.settings import ActionSettings
from gradegate.errors import ConfigError
from gradegate.github import step_files as workflow
from gradegate.github.client import GitHub
from gradegate.github.comment import Left, Posted, Refused, stamp, upsert_comment
from gradegate.github.gate_key import key_of_gate, shown_gate
from gradegate.github.links import links
from gradegate.github.step_files import MISTAKEN
from gradegate.reports.delivery.redact import redact_mistakes
from gradegate.reports.delivery.report import Annotations, Comment, Document, Summary
from gradegate.reports.format.escape import Escaped, harmless, visible, workflow_command
from gradegate.reports.format.page import render_bare_page
from gradegate.reports.view.findings import fingerprint
from gradegate.results.run_result import Counts, Decision, GateOutcome
from gradegate.security.event import Event
from gradegate.security.redaction import Redact, excerpt
from gradegate.security.secrets import document_redactor
from gradegate.structs import NamedTexts, replace

FAILING = (GateOutcome.BLOCKED, GateOutcome.INCONCLUSIVE, GateOutcome.NOT_RUN)
MOST_MISTAKES = 50
LONGEST_MISTAKE = 1000  # characters; with as many as are shown, within what a comment holds
NO_SECRETS = (
    "This pull request comes from {}: GitHub gives its workflow no secrets and a read-only token, so no model can be called with a "
    "key. Somebody with write access can review the commits and push them to a branch of this repository."
)


@dataclass(frozen=True)
class Step:
    """Where the action publishes; ``say`` writes one line to the log of the step."""

    settings: ActionSettings
    event: Event
    environ: NamedTexts
    github: GitHub
    say: Callable[[str], object] = print

    @cached_property
    def hide(self) -> Redact:
        """Hides the secrets of the environment in whatever leaves the step."""
        return document_redactor(self.environ)

    def tell(self, text: Escaped) -> None:
        """Write to the log."""
        self.say(self.hide(text).rstrip("\n"))


def publish(
    step: Step,
    decision: Decision,
    documents: Iterable[Document],
    written: Iterable[str | Path],
) -> dict[str, str]:
    """Publish what the reports say of a decision; ``written`` are the report files. Returns the outputs that were set; says what fails."""
    texts = {type(document): document.text for document in documents}
    if commands := texts.get(Annotations):
        step.tell(commands)  # first: the runner shows ten of a kind and no more
    _summarise(step, texts.get(Summary))
    failing = decision.outcome in FAILING
    url = _comment(step, texts.get(Comment), failing, fingerprint(decision))
    cases, baseline = decision.cases, decision.run.baseline
    usage = decision.run.target_usage + decision.run.grader_usage
    values = {
        "decision": decision.outcome.value,
        "passed": str(cases.passed),
        "failed": str(cases.failed),
        "errored": str(cases.errored),
        "pass-rate": _rounded_down(cases),
        "new-failures": "" if baseline is None else str(baseline.new_failures),
        "cost-usd": "" if usage.known_cost is None else f"{usage.known_cost:.6f}",
        "comment-url": url,
        # Relative to the workspace: the container's own paths mean nothing to later steps.
        "reports": "\n".join(_from_workspace(step, path) for path in written),
    }
    return set_outputs(step, values)


def _rounded_down(cases: Counts) -> str:
    """The pass rate with four digits: only a run in which every case passed reads 1.0000."""
    graded = cases.passed + cases.failed
    share = cases.passed * 10_000 // graded if graded else 0
    return f"{share // 10_000}.{share % 10_000:04d}" if graded else ""


def _from_workspace(step: Step, path: str | Path) -> str:
    root = step.environ.get("GITHUB_WORKSPACE") or os.fspath(step.settings.run.cwd)
    return os.path.relpath(step.settings.run.cwd / path, root)


def publish_mistakes(step: Step, error: ConfigError) -> dict[str, str]:
    """Publish that the gate could not start; an older comment must not go on claiming a pass."""
    error = redact_mistakes(error, step.hide)
    for mistake in error.mistakes:
        origin = mistake.origin
        file, line = (origin.file, origin.line) if origin and holds(step)(origin.file) else ("", 0)
        words = mistake.what + (f" -> {mistake.cure}" if mistake.cure else "")
        step.tell(
            workflow_command("error", words if file else str(mistake), file=file, line=line or None)
        )
    if secrets := NO_SECRETS.format(step.event.outsider) if step.event.outsider else "":
        step.tell(workflow_command("notice", secrets))
    listed = [
        excerpt(visible(str(mistake)), LONGEST_MISTAKE)
        for mistake in error.mistakes[:MOST_MISTAKES]
    ]
    more = len(error.mistakes) - len(listed)
    lines = "\n".join([*listed, f"and {more} more; see the log"] if more else listed)
    where = replace(links(step.event, step.environ), key=shown_gate(step.settings, step.environ))
    text = render_bare_page(MISTAKEN, f"No model was asked. {secrets}".rstrip(), lines, where)
    _summarise(step, text)
    findings = hashlib.sha256(
        "\n".join(map(str, error.mistakes)).encode("utf-8", "replace")
    ).hexdigest()[:16]
    url = _comment(step, text, True, findings)
    return set_outputs(step, {"decision": MISTAKEN, "comment-url": url})


def _summarise(step: Step, text: Escaped | None) -> None:
    if text and (problem := workflow.append_summary(step.environ, step.hide(text))):
        warn(step, f"The job summary was not written: {problem}.")


def _comment(step: Step, text: Escaped | None, failing: bool, findings: str) -> str:
    """Give the address of the comment, or an empty string."""
    mode, event = step.settings.comment, step.event
    if mode == "off" or not text:
        return ""
    if event.number is None and not event.problem:
        step.tell(
            harmless(f"No comment was posted: the event {event.name} is not about a pull request.")
        )
        return ""
    if why := event.problem or ("" if step.settings.token else "the input `github-token` is empty"):
        warn(step, f"No comment was posted: {why}.")
        return ""
    named = step.settings.comment_key
    key = named or key_of_gate(step.settings.run, step.environ)
    outcome = upsert_comment(
        step.github,
        event,
        step.hide(text),
        stamp(key, step.environ, event.head_sha, findings, token_hex(8)),
        create=mode != "failures" or failing,
        only_changed=mode == "changes",
        former=None if named else "",  # earlier releases made no key of the job
        is_shared=bool(named),
    )
    if isinstance(outcome, Refused):
        warn(step, f"No comment was posted: {outcome.reason}. The verdict stands.")
    if not isinstance(outcome, Left | Posted):
        return ""
    said = (
        f"The comment was not changed: {outcome.why}. {outcome.url}"
        if isinstance(outcome, Left)
        else f"Comment: {outcome.url}"
    )
    step.tell(harmless(said))
    return outcome.url


def set_outputs(step: Step, values: NamedTexts) -> dict[str, str]:
    """Set outputs of the step that are safe in a shell, and warn of the others. Returns those that were set."""
    safe, unsafe = workflow.safe_outputs(values)
    if unsafe:
        warn(
            step,
            f"These outputs are not set, because a shell could run their values as code: {', '.join(unsafe)}.",
        )
    if problem := workflow.write_outputs(step.environ, safe):
        warn(step, f"The outputs were not written: {problem}.")
        return {}
    return safe


def holds(step: Step) -> Callable[[str], bool]:
    """Whether a file, by its name in messages, is in the workspace: GitHub shows an annotation of no other."""
    root = Path(step.environ.get("GITHUB_WORKSPACE") or step.settings.run.cwd)

    def held(name: str) -> bool:
        try:
            return bool(name) and (root / name).is_file()
        except (OSError, ValueError):
            return False

    return held


def warn(step: Step, words: str) -> None:
    """Say it in the log and on the page of the run."""
    step.tell(harmless(words))
    step.tell(workflow_command("warning", words))
