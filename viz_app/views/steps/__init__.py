"""The page Step by step: one token through a layer."""
