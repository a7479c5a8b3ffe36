"""The model run for searches: packed for this CPU, shared by threads, and over batches of sentences."""
