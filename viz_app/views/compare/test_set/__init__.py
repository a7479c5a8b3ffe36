"""Two models over a test set."""
