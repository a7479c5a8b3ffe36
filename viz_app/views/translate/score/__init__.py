"""The view Score a file: log-probabilities of a file of sentences and translations."""
