"""The page Corpus: heads and neurons over thousands of sentences."""
