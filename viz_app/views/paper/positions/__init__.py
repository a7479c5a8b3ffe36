"""The view Positions: positional encodings and what attention makes of them."""
