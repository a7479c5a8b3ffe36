"""The view Step by step: one token through a layer."""
