"""The page Parsing."""
