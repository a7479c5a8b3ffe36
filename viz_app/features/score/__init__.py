"""The page Score a file."""
