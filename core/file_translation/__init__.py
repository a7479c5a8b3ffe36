"""Translate a file of any length: windows of lines, worker processes, and an output that a killed job can continue."""
