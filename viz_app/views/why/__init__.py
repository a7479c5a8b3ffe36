"""The page Why this word: what a prediction comes from."""
