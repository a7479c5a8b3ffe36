"""The app: type a sentence, read its translation, inspect any head."""
