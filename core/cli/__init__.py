"""The commands of `python -m core`."""
