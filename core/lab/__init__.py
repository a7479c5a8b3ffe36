"""Small models trained while one watches: the Transformer of `core/paper.py`, whole or with a part taken away."""
