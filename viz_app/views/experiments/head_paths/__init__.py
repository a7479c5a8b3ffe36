"""The view Head to head: which head reads the output of which other."""
