"""Cuts of attention weights on the page Heads."""
