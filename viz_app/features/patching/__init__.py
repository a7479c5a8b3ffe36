"""The page Patching."""
