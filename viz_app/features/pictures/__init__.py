"""The page Read a picture: the picture, and the model that reads it."""
