"""The commands of `python -m train`, one file each, and the options that several of them share."""
