"""The page Why self-attention."""
