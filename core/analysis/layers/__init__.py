"""Layer types of Table 1 (section 4): their cost and maximum path length."""
