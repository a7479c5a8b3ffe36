"""Drawings of the page Corpus as files."""
