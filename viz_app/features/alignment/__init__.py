"""The page Alignment."""
