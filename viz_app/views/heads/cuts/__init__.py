"""Cuts: weights that are set to 0 in the map of a head, and the effect on the translation."""
