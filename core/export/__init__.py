"""Export of explanations: NPZ and JSON for programs, one HTML file for people.

`load_explanation("out.npz")` reads a file of `save_explanation("out.npz", record)`; `core.export.record` describes it.
"""

from core.export.files import SUFFIXES, as_bytes, load_explanation, save_explanation
from core.export.record import ExplanationRecord, record_of

__all__ = ["SUFFIXES", "ExplanationRecord", "as_bytes", "load_explanation", "record_of", "save_explanation"]
