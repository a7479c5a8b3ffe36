"""The page Table 1."""
