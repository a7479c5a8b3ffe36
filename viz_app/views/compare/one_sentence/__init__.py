"""Two hypotheses, sentences or checkpoints side by side, and their difference."""
