"""The app: type a sentence, read its translation, look at any head."""
