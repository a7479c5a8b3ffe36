"""The page Compare: two translations of one sentence side by side, or two models over a test set."""
