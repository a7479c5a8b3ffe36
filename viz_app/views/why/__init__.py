"""The page Why this word: the causes of a prediction."""
