"""The page Figures of the paper."""
