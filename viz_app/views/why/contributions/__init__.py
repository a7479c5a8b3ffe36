"""The view What heads write: the parts of a logit."""
