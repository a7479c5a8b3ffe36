"""The page Translate: the translation, how the search found it, and scores of a file of sentences."""
