"""Exercises, whose answers the opened model decides."""
