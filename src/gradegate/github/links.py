"""Addresses of the run and its commits on GitHub, for reports."""

from gradegate.reports.delivery.report import Links
from gradegate.security.event import Event
from gradegate.structs import NamedTexts


def links_of_run(event: Event, environ: NamedTexts) -> Links:
    """Addresses on the server of the workflow. The base repository has the head commit of a fork, too."""
    server = environ.get("GITHUB_SERVER_URL", "").rstrip("/")
    if not (server and event.repository):
        return Links()
    run = environ.get("GITHUB_RUN_ID", "")
    attempt = environ.get("GITHUB_RUN_ATTEMPT", "")
    if run:
        run = f"{server}/{event.repository}/actions/runs/{run}"
        run += f"/attempts/{attempt}" if attempt else ""
    return Links(server, event.repository, event.head_sha, run)
