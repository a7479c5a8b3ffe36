"""One explanation to take along: as NPZ or JSON for other programs, and as one HTML file for people.

`load_explanation("out.npz")` reads what `save_explanation("out.npz", record)` wrote; see `core.export.record` for what
is in it.
"""

from core.export.files import SUFFIXES, as_bytes, load_explanation, save_explanation
from core.export.record import ExplanationRecord, record_of

__all__ = ["SUFFIXES", "ExplanationRecord", "as_bytes", "load_explanation", "record_of", "save_explanation"]
