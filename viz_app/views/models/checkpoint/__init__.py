"""The view Checkpoint: the report on the open model."""
