"""Changes inside a forward pass, and their effect."""
