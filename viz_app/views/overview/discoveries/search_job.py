"""The session's search for discoveries, a job."""

from collections.abc import Iterator

from core.analysis.discoveries import search
from core.analysis.discoveries.facts import Discoveries
from core.analysis.sample_sentences import EVERYDAY
from viz_app.language import marked
from viz_app.session.jobs import Job, JobSlot
from viz_app.session.models import Model


class Search:
    """A search for discoveries, `found` so far."""

    def __init__(self, model: Model) -> None:
        self.model, self.found = model, Discoveries((), 0, search.num_steps(EVERYDAY))
        self.job = Job(self._steps(), self.found.total, marked("steps"))

    def _steps(self) -> Iterator[int]:
        for found in search.discover(self.model.translator):
            done, self.found = self.found.done, found
            yield found.done - done


class SearchSlot(JobSlot[Search]):
    """The session's search."""
