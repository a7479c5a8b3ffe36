"""Pictures of a line of text, and their characters as read by a Transformer (7): files, patches and rendering."""
