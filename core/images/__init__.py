"""Pictures of a line of text, and their characters as read by a Transformer (7).

Files, patches and rendering.
"""
