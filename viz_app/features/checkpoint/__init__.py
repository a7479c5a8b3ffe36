"""The page Checkpoint."""
