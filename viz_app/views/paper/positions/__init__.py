"""The view Positions: positional encodings, and their part in attention."""
