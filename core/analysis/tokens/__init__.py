"""Words out of sub-word pieces, maps aggregated over words, and edited targets."""
