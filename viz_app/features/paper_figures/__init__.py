"""The page Figures."""
