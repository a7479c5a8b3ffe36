"""The view Read a picture: the text of a line by a Transformer."""
