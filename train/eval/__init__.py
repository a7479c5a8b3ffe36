"""Scores: translations by BLEU, chrF and perplexity, trees by PARSEVAL."""
