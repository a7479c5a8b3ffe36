"""The data pipeline, from parallel text to batches: reading, filtering, token shards, prefetching."""
