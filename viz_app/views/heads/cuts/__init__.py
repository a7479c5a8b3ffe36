"""Cuts: weights that are set to 0 in the map of a head, and what becomes of the translation."""
