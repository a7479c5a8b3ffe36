"""What the heads of a model do more of than any head with random weights, and what changes without them."""
