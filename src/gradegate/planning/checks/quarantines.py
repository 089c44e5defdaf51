"""Says when tests in quarantine count again."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from gradegate.core.numbers import format_count, list_some
from gradegate.core.policy import Note, Quarantine
from gradegate.planning.plan import Job
from gradegate.security.redaction import excerpt

_SOON = 7  # a note tells so many days before the end that a quarantine ends
_MOST_NAMED = 20  # tests in quarantine that a note names


def notes_on_quarantines(jobs: Iterable[Job]) -> Iterator[Note]:
    """A note for each day on which a quarantine ends, at the first of its tests."""
    cases_by_end = defaultdict[Quarantine, dict[tuple[str, int], Job]](dict)
    for job in jobs:
        if job.case.quarantine:
            cases_by_end[job.case.quarantine][job.suite, job.number] = job

    for quarantine in sorted(cases_by_end, key=lambda quarantine: quarantine.until):
        cases = list(cases_by_end[quarantine].values())
        names = [f"`{excerpt(job.case_name, 80)}`" for job in cases]
        text = f"in quarantine until {quarantine.until}, so failures of these tests only advise"
        if quarantine.days < 0:
            text = f"the quarantine ended on {quarantine.until}, so these tests count again; fix them, and remove `flaky`"
        elif quarantine.days <= _SOON:
            days = format_count(quarantine.days, "day")
            text += f"; it ends in {days}, and then they count again"
        yield Note(f"{text}: {list_some(names[:_MOST_NAMED], len(names))}", cases[0].case.origin)
