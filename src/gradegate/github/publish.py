"""Publishes a decision: annotations, summary, comment and outputs. Nothing here can change the verdict."""

import hashlib
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from secrets import token_hex

from gradegate.core.settings import ActionSettings
from gradegate.errors import ConfigError, Mistake
from gradegate.github import step_files
from gradegate.github.client import GitHub
from gradegate.github.comment import CommentThread, Left, Refused, Stamp
from gradegate.github.gate_key import gate_key, gate_title
from gradegate.github.links import links_of_run
from gradegate.reports.delivery.redact import redact_mistakes
from gradegate.reports.delivery.report import Annotations, Comment, Document, Links, Summary
from gradegate.reports.format.escape import Escaped, harmless, visible, workflow_command
from gradegate.reports.format.page import render_mistakes
from gradegate.reports.view.findings import fingerprint
from gradegate.results.run_result import Counts, Decision, GateOutcome
from gradegate.security.event import Event
from gradegate.security.redaction import Redact, excerpt
from gradegate.security.secrets import document_redactor
from gradegate.structs import NamedTexts, replace

FAILING = (GateOutcome.BLOCKED, GateOutcome.INCONCLUSIVE, GateOutcome.NOT_RUN)
MOST_MISTAKES = 50
LONGEST_MISTAKE = 1000  # characters; with as many as are shown, within what a comment may have
NO_SECRETS = (
    "This pull request comes from {}: GitHub gives its workflow no secrets and a read-only token, so no model can be called with a "
    "key. Somebody with write access can review the commits and push them to a branch of this repository."
)


@dataclass(frozen=True)
class Step:
    """One start of the Action. ``say`` writes one line to its log."""

    settings: ActionSettings
    event: Event
    environ: NamedTexts
    github: GitHub
    say: Callable[[str], object] = print

    @cached_property
    def hide(self) -> Redact:
        """Hides the secrets of the environment in whatever leaves the step."""
        return document_redactor(self.environ)

    @property
    def links(self) -> Links:
        """The links of reports, with the gate that they are about."""
        gate = gate_title(self.settings, self.environ)
        return replace(links_of_run(self.event, self.environ), key=gate)

    @property
    def workspace(self) -> str:
        """The folder that the paths of outputs and annotations begin at."""
        return self.environ.get("GITHUB_WORKSPACE") or os.fspath(self.settings.run.cwd)

    def has_file(self, name: str) -> bool:
        """Whether the workspace has a file, by its name in messages. GitHub shows only annotations of such files."""
        try:
            return bool(name) and Path(self.workspace, name).is_file()
        except (OSError, ValueError):
            return False

    def tell(self, text: Escaped) -> None:
        """Write to the log."""
        self.say(self.hide(text).rstrip("\n"))

    def warn(self, text: str) -> None:
        """Write to the log, and to the page of the run."""
        self.tell(harmless(text))
        self.tell(workflow_command("warning", text))


def publish_decision(
    step: Step,
    decision: Decision,
    documents: Iterable[Document],
    written: Iterable[str | Path],
) -> dict[str, str]:
    """Publish the reports of a decision. ``written`` are the report files. Returns the outputs that were set."""
    texts = {type(document): document.text for document in documents}
    commands = texts.get(Annotations)
    if commands:
        step.tell(commands)  # first: the runner shows only ten of a kind
    _append_summary(step, texts.get(Summary))
    failing = decision.outcome in FAILING
    url = _publish_comment(step, texts.get(Comment), failing, fingerprint(decision))

    cases = decision.cases
    baseline = decision.run.baseline
    cost = decision.run.usage.known_cost
    # The container's own paths mean nothing to later steps.
    paths = [os.path.relpath(step.settings.run.cwd / path, step.workspace) for path in written]
    values = {
        "decision": decision.outcome.value,
        "passed": str(cases.passed),
        "failed": str(cases.failed),
        "errored": str(cases.errored),
        "pass-rate": _rounded_down_rate(cases),
        "new-failures": "" if baseline is None else str(baseline.new_failures),
        "cost-usd": "" if cost is None else f"{cost:.6f}",
        "comment-url": url,
        "reports": "\n".join(paths),
    }
    return set_outputs(step, values)


def _rounded_down_rate(cases: Counts) -> str:
    """The pass rate with four digits. Only a run in which every case passed reads 1.0000."""
    graded = cases.passed + cases.failed
    if not graded:
        return ""
    rate = cases.passed * 10_000 // graded
    return f"{rate // 10_000}.{rate % 10_000:04d}"


def publish_mistakes(step: Step, error: ConfigError) -> dict[str, str]:
    """Publish that the gate could not start. An older comment must not go on claiming a pass.

    Returns the outputs that were set.
    """
    mistakes = redact_mistakes(error, step.hide).mistakes
    for mistake in mistakes:
        step.tell(_annotate_mistake(step, mistake))
    reason = "No model was asked."
    if step.event.outsider:
        notice = NO_SECRETS.format(step.event.outsider)
        step.tell(workflow_command("notice", notice))
        reason += f" {notice}"

    lines = [
        excerpt(visible(str(mistake)), LONGEST_MISTAKE) for mistake in mistakes[:MOST_MISTAKES]
    ]
    more = len(mistakes) - len(lines)
    if more:
        lines.append(f"and {more} more; see the log")
    page = render_mistakes(reason, "\n".join(lines), step.links)
    _append_summary(step, page)

    content = "\n".join(map(str, mistakes)).encode("utf-8", "replace")
    findings = hashlib.sha256(content).hexdigest()[:16]
    url = _publish_comment(step, page, True, findings)
    return set_outputs(step, {"decision": step_files.MISTAKE, "comment-url": url})


def _annotate_mistake(step: Step, mistake: Mistake) -> Escaped:
    """The annotation of a mistake, at its line if the workspace has the file."""
    origin = mistake.origin
    if not origin or not step.has_file(origin.file):
        return workflow_command("error", str(mistake))
    text = str(replace(mistake, origin=None))
    return workflow_command("error", text, file=origin.file, line=origin.line or None)


def _append_summary(step: Step, text: Escaped | None) -> None:
    problem = step_files.append_summary(step.environ, step.hide(text)) if text else ""
    if problem:
        step.warn(f"The job summary was not written: {problem}.")


def _publish_comment(step: Step, text: Escaped | None, failing: bool, findings: str) -> str:
    """Write the comment. Returns its address, or an empty string."""
    mode = step.settings.comment
    event = step.event
    if mode == "off" or not text:
        return ""
    if event.number is None and not event.problem:
        problem = f"No comment was posted: the event {event.name} is not about a pull request."
        step.tell(harmless(problem))
        return ""
    problem = event.problem
    if not problem and not step.settings.token:
        problem = "the input `github-token` is empty"
    if problem:
        step.warn(f"No comment was posted: {problem}.")
        return ""

    comment_key = step.settings.comment_key
    key = comment_key or gate_key(step.settings.run, step.environ)
    thread = CommentThread(
        step.github,
        event,
        Stamp.from_environ(key, step.environ, event.head_sha, findings, token_hex(8)),
        create=mode != "failures" or failing,
        only_changed=mode == "changes",
        former=None if comment_key else "",  # earlier releases made no key of the job
        is_shared=bool(comment_key),
    )
    result = thread.update(step.hide(text))
    if result is None:
        return ""
    if isinstance(result, Refused):
        step.warn(f"No comment was posted: {result.reason}. The verdict stands.")
        return ""
    message = f"Comment: {result.url}"
    if isinstance(result, Left):
        message = f"The comment was not changed: {result.why}. {result.url}"
    step.tell(harmless(message))
    return result.url


def set_outputs(step: Step, values: NamedTexts) -> dict[str, str]:
    """Set outputs of the step that are safe in a shell, and warn of the others. Returns those that were set."""
    safe, unsafe = step_files.split_outputs(values)
    if unsafe:
        names = ", ".join(unsafe)
        step.warn(
            f"These outputs are not set, because a shell could run their values as code: {names}."
        )
    problem = step_files.write_outputs(step.environ, safe)
    if problem:
        step.warn(f"The outputs were not written: {problem}.")
        return {}
    return safe
