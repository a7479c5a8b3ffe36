"""Analyses of explanations, heads, layers and positional encodings."""
