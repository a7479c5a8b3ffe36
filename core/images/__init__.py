"""Pictures of a line of text: files, patches, rendering, and their characters as read by a Transformer (7)."""
