"""The page Paper: its sections, figures and Table 1 beside the code."""
