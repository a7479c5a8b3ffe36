"""Words from sub-word pieces, maps aggregated over words, and edited targets."""
