"""The view Layer by layer: what each layer would predict."""
