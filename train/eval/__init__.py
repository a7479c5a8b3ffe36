"""Evaluation: BLEU, chrF and perplexity of translations, PARSEVAL of trees."""
