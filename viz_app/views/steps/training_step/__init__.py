"""The view Training step: one step of training on the sentence."""
