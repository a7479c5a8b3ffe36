"""One token followed through the model, with all numbers of a chosen layer and head."""
