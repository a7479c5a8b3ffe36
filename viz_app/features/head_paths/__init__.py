"""The page Head to head."""
