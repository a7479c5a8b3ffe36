"""Constituency parsing (6.3): trees, their words, and a search over trees alone."""
