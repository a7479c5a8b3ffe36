"""The view Layer by layer: the predictions of each layer."""
