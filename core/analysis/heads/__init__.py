"""Analysis of single heads: score-cards, labels, gates, ablation, combinations."""
