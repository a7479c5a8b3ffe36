"""The frame of every page: sentence input, sidebar, share menu, badges."""
