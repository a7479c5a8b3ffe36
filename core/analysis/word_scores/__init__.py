"""Sentences of a file scored word by word, the worst words first."""
