"""Widgets of several pages: toolbar, downloads, tables, progress."""
