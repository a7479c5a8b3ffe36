"""The page Models: the open model and its training; parsers and readers of pictures."""
