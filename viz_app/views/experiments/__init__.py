"""The page Experiments: a model that is changed, and the effect on its translation."""
