"""Constituency parsing (6.3): trees, treebank tokenization, constrained search."""
