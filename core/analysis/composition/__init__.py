"""Direct paths between heads, networks, embeddings and a logit."""
