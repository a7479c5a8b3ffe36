"""The page "Layer by layer"."""
