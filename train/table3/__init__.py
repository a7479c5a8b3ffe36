"""Rows of the paper's Table 3 under one budget, and their figure."""
