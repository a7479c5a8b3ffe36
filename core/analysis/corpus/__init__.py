"""Strongest examples of heads and neurons over many sentences, in an index."""
