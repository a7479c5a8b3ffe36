"""Commands of `python -m train` that have a file of their own, and the options they share."""
