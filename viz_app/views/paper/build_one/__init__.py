"""The view Build one: the Transformer of the paper is trained, whole or with a part changed."""
