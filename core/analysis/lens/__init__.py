"""Translations and tokens read from states between the layers."""
