"""Says when tests in quarantine count again."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from gradegate.core.numbers import format_count, list_some
from gradegate.core.policy import Note, Quarantine
from gradegate.planning.plan import Job
from gradegate.security.redaction import excerpt

_SOON = 7  # days before its end from which reports say that a quarantine ends
_NAMED = 20  # tests in quarantine that a note names


def ends(jobs: Iterable[Job]) -> Iterator[Note]:
    """A note for each day on which a quarantine ends, at the first of its tests."""
    by_day = defaultdict[Quarantine, dict[tuple[str, int], Job]](dict)
    for job in jobs:
        if quarantine := job.case.quarantine:
            by_day[quarantine][job.suite, job.number] = job
    for quarantine, cases in sorted(by_day.items(), key=lambda item: item[0].until):
        together = [*cases.values()]
        names = [f"`{excerpt(job.case_name, 80)}`" for job in together]
        text = f"in quarantine until {quarantine.until}, so failures of these tests only advise"
        if quarantine.days < 0:
            text = f"the quarantine ended on {quarantine.until}, so these tests count again; fix them, and remove `flaky`"
        elif quarantine.days <= _SOON:
            text += (
                f"; it ends in {format_count(quarantine.days, 'day')}, and then they count again"
            )
        yield Note(f"{text}: {list_some(names[:_NAMED], len(names))}", together[0].case.origin)
