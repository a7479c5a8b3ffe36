"""Two models over a test set: paired scores, the sentences that differ, and buckets of sentences and words."""
