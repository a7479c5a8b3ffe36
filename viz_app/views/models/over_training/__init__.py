"""The view Over training: heads in the snapshots of a training run."""
