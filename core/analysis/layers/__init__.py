"""Table 1 (section 4): layer types, their cost, and the length of paths through them."""
