"""The page Experiments: a model that is changed, and what becomes of its translation."""
