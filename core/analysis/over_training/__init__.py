"""A sentence and the heads at several snapshots of one training run."""
