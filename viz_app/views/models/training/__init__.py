"""The view Training: curves of runs."""
