"""The view Table 3: variations of the model, the paper's and those trained here."""
