"""Addresses of the run and its commits on GitHub, for reports."""

from gradegate.reports.delivery.report import Links
from gradegate.security.event import Event
from gradegate.structs import NamedTexts


def links(event: Event, environ: NamedTexts) -> Links:
    """Addresses on the server where the workflow runs; the head commit of a fork is reachable from its base, too."""
    server = environ.get("GITHUB_SERVER_URL", "").rstrip("/")
    run = environ.get("GITHUB_RUN_ID", "")
    if not (server and event.repository):
        return Links()
    attempt = environ.get("GITHUB_RUN_ATTEMPT", "")
    address = f"{server}/{event.repository}/actions/runs/{run}" + (
        f"/attempts/{attempt}" if attempt else ""
    )
    return Links(server, event.repository, event.head_sha, address if run else "")
