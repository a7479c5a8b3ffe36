"""The page Compare: two translations side by side."""
