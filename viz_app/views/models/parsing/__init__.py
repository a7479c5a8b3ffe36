"""The view Parsing: the tree of a sentence by a Transformer."""
