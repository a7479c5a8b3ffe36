"""Widgets that several pages share: toolbar, downloads, tables, progress of a search."""
