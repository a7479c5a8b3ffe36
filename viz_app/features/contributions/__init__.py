"""The page "What heads write"."""
