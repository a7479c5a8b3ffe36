"""Word alignments from cross-attention, and how far they are from people's."""
