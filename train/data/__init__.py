"""The data pipeline, from parallel text to batches.

Reading, filtering, token shards, prefetching.
"""
