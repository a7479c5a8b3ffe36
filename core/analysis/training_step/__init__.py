"""One step of training on a sentence and its translation, in numbers."""
