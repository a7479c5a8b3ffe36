"""One token followed through the model, with all numbers of a layer and head."""
