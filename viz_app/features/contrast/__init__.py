"""The page "Why A rather than B"."""
