"""The view Discoveries: what the heads of the open model do."""
