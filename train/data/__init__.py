"""From parallel text to batches: reading, filtering, token shards, and batches made ahead of time."""
