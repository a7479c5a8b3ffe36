"""The commands of `python -m train`, one file each, and options they share."""
