"""The frame of every page: sentence input, sidebar, tour, share menu, badges."""
