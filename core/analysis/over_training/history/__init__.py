"""Checkpoints of one run at several steps: opened one at a time, and packed."""

from core.analysis.over_training.history.snapshots import History, open_history, pack_history

__all__ = ["History", "open_history", "pack_history"]
