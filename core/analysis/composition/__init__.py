"""Which head feeds which: direct paths between heads, networks, embeddings and a logit."""
