"""The page "Over training"."""
