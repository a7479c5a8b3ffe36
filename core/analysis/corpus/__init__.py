"""Strongest examples of heads and feed-forward neurons over many sentences, and an index of them."""
