"""The view Table 2: scores and costs of training, the paper's and those of the shipped models."""
