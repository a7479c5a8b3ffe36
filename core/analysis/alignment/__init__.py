"""Word alignments from cross-attention, and their error rate against gold links."""
